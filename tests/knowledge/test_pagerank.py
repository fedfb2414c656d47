from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.knowledge.pagerank import pagerank_percentiles

nodes = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(nodes, nodes), max_size=30)


def test_no_edges_rank_nothing() -> None:
    assert pagerank_percentiles([]) == {}
    assert pagerank_percentiles([("a", "a")]) == {}


def test_the_most_referred_to_stands_first() -> None:
    ranks = pagerank_percentiles([("a", "hub"), ("b", "hub"), ("c", "hub"), ("d", "leaf")])
    assert ranks == {"hub": 1.0, "leaf": 0.5}


def test_a_reference_from_an_important_clause_weighs_more() -> None:
    edges = [(source, "hub") for source in "abcdef"] + [("hub", "favoured"), ("g", "plain")]
    ranks = pagerank_percentiles(edges)
    assert ranks["favoured"] > ranks["plain"]


def test_a_known_graph_has_its_known_order() -> None:
    # a→b, a→c, b→c, c→a: the classic three-page example, PageRank c > a > b.
    ranks = pagerank_percentiles([("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")])
    assert ranks == {"c": 1.0, "a": 2 / 3, "b": 1 / 3}


@given(graphs)
def test_percentiles_are_of_the_nodes_with_incoming_edges(edges: list[tuple[str, str]]) -> None:
    ranks = pagerank_percentiles(edges)
    assert set(ranks) == {target for source, target in edges if source != target}
    assert all(0 < rank <= 1 for rank in ranks.values())
    if ranks:
        assert max(ranks.values()) == 1


@given(graphs, st.randoms())
def test_neither_order_nor_repeats_matter(edges: list[tuple[str, str]], random: object) -> None:
    assert pagerank_percentiles(edges) == pagerank_percentiles(edges[::-1] + edges)


@given(st.integers(2, 8))
def test_equals_stand_equal(size: int) -> None:
    ring = [(str(at), str((at + 1) % size)) for at in range(size)]
    assert set(pagerank_percentiles(ring).values()) == {1.0}
