"""One typed tree of settings: defaults < file (trias.yaml) < environment (TRIAS_…) < command-line flag."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from orchestrator.errors import ConfigurationError

__all__ = [
    "AdmissionSettings",
    "AgentSettings",
    "BudgetSettings",
    "CanarySettings",
    "DomainSettings",
    "InferenceSettings",
    "IngestSettings",
    "KnowledgeSettings",
    "LauncherSettings",
    "PathSettings",
    "PublishSettings",
    "ReasonerSettings",
    "RetrieverSettings",
    "RouterSettings",
    "ScoringSettings",
    "ServerSettings",
    "Settings",
    "load_settings",
]

PROJECT = Path(__file__).resolve().parents[1]
DEFAULT_FILE = "trias.yaml"


# YAML reads a bare `off` (and `no`) as false.
_OptionalModel = Annotated[
    Literal["auto", "off", "required"], BeforeValidator(lambda value: "off" if value is False else value)
]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathSettings(_Section):
    """Where things lie. Relative paths are taken from the working directory."""

    data: Path = Field(Path(".trias"), description="indexes, answers, logs and everything else that Trias writes")
    model_repository: Path = Field(PROJECT / "model_repository", description="what Triton serves")
    domains: Path = Field(PROJECT / "domains", description="domain packs, one folder each")


class LauncherSettings(_Section):
    """The tritonserver that `trias` starts itself."""

    host: str = "127.0.0.1"
    grpc_port: int = Field(8001, ge=0, le=65535, description="0 picks a free port")
    http_port: int = Field(8000, ge=0, le=65535)
    metrics_port: int = Field(8002, ge=0, le=65535)
    start_timeout_s: float = Field(60, gt=0)
    exit_timeout_s: int = Field(10, gt=0, description="how long in-flight requests may take at shutdown")


class CanarySettings(_Section):
    """The watchdog that finds and heals a crashed model process."""

    interval_s: float = Field(1.0, gt=0)
    timeout_s: float = Field(2.0, gt=0)
    failures: int = Field(2, ge=1, description="failed canaries in a row before the model is reloaded")
    hang_s: float = Field(30, gt=0, description="a model that answers nobody for this long counts as hung, not as busy")
    max_pause_s: float = Field(30, gt=0, description="longest wait between two attempts at healing")


class InferenceSettings(_Section):
    """Calls to the served models."""

    endpoints: dict[str, str] = Field(
        default_factory=lambda: {"*": "127.0.0.1:8001"},
        description="model name → Triton's gRPC address; '*' is every model not named",
    )
    deadline_s: float = Field(2.0, gt=0, description="one call to Triton")
    attempts: int = Field(8, ge=1, description="tries of a call that may be retried, if its time allows so many")
    max_batch_tokens: int = Field(
        512, ge=16, description="padded tokens in one request: what a question may have to wait behind; more on a GPU"
    )
    max_batch_rows: int = Field(32, ge=1)
    buckets: tuple[int, ...] = Field((16, 32, 64, 128, 256, 512), description="padded lengths, in tokens")
    max_concurrent_requests: int = Field(4, ge=1, description="requests with questions in flight to one model")
    max_concurrent_passages: int = Field(2, ge=1, description="requests with passages, which questions shall overtake")
    max_concurrent_generations: int = Field(1, ge=1, description="completions asked for at once; more on a GPU")
    cache_entries: int = Field(4096, ge=0, description="query vectors kept in memory")


class PublishSettings(_Section):
    """How a new model version goes live."""

    canary_requests: int = Field(
        64, ge=8, description="of the last questions asked, sent to the old version and the new"
    )
    canary_rounds: int = Field(3, ge=1, description="how often; of each question the quickest answer counts")
    p95_ratio: float = Field(1.5, gt=0, description="the new version's P95 over the old one's, at most")
    p95_slack_ms: float = Field(5.0, ge=0, description="on top of that")
    watch_s: float = Field(5.0, ge=0, description="how long Triton's counts are watched after the promotion")
    failed_share: float = Field(0.02, ge=0, le=1, description="of its requests; above it the old version comes back")
    drain_s: float = Field(3.0, ge=0, description="how long the old version stays loaded for who still calls it")
    lock_s: float = Field(60.0, ge=0, description="how long another promotion of the model is waited for")


class KnowledgeSettings(_Section):
    """Which adapters hold the library, and where."""

    vector: Literal["qdrant-edge", "qdrant"] = "qdrant-edge"
    keyword: Literal["tantivy", "elasticsearch"] = "tantivy"
    graph: Literal["sqlite", "neo4j"] = "sqlite"
    name: str = Field("library", pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="one data folder holds many")
    gram_weight: float = Field(1.0, ge=0, description="BM25 over character uni- and bigrams, in the keyword score")
    word_weight: float = Field(0.5, ge=0, description="BM25 over words, in the keyword score")
    qdrant_url: str = "http://127.0.0.1:6333"
    elasticsearch_url: str = "http://127.0.0.1:9200"
    neo4j_url: str = "bolt://127.0.0.1:7687"
    neo4j_user: str = "neo4j"
    neo4j_password: str = ""


class DomainSettings(_Section):
    """Which domain pack answers where the caller names none."""

    default: str = "medical_insurance"


class IngestSettings(_Section):
    """From source files to clauses."""

    workers: int = Field(0, ge=0, description="parser processes; 0 means one per core")
    max_file_mb: int = Field(200, ge=1)
    max_clause_chars: int = Field(1200, ge=100, description="a longer clause is split at turning words")
    file_timeout_s: float = Field(120, gt=0, description="a file that takes longer is skipped")
    embed_rows: int = Field(64, ge=1, description="clauses sent to the embedder at a time")
    embed_timeout_s: float = Field(120, gt=0, description="for that many clauses, a restart of the model included")
    server_wait_s: float = Field(60, gt=0, description="how long a server that does not answer is waited for")


class RouterSettings(_Section):
    """How a question is understood."""

    max_question_chars: int = Field(2000, ge=1)
    example_neighbours: int = Field(8, ge=1, description="labelled examples that vote on the intent")
    embed_timeout_s: float = Field(0.3, gt=0, description="rules alone decide where the vector takes longer")
    model: _OptionalModel = Field(
        "auto", description="the trained model: used where it is served; `required`: its absence is a degradation"
    )
    classify_timeout_s: float = Field(0.3, gt=0, description="rules and examples decide where the model takes longer")
    model_examples: int = Field(1000, ge=8, description="of the pack's, that a model reads at the start: its measure")
    language_model: str = Field("", description="a causal model served by this name reads questions, in JSON, instead")
    chat_template: Literal["none", "phi3"] = Field("none", description="in which it was tuned to be asked")
    titles_timeout_s: float = Field(0.2, gt=0, description="looking up documents that the question names")
    warm_up_timeout_s: float = Field(30.0, gt=0, description="embedding a batch of the packs' examples")
    clarify_below: float = Field(0.45, ge=0, le=1, description="ask back below this confidence")
    rewrite: bool = Field(True, description="normalise colloquial wording")
    max_sub_questions: int = Field(4, ge=1)


class ScoringSettings(_Section):
    """final = Σ weight × term; each term is in [0,1]. Re-fit with `trias eval fit`."""

    semantic: float = Field(0.4, ge=0, le=1)
    bm25: float = Field(0.3, ge=0, le=1)
    graph: float = Field(0.2, ge=0, le=1)
    position: float = Field(0.1, ge=0, le=1)
    pagerank: float = Field(0.07, ge=0, le=1, description="what the highest PageRank percentile is worth as graph term")
    consistency: float = Field(0.1, ge=0, le=1, description="at most what a contradicted passage loses")
    cosine_low: float = Field(0.78, description="the cosine that counts as 0")
    cosine_high: float = Field(0.95, description="the cosine that counts as 1")
    bm25_full: float = Field(10.6, gt=0, description="the BM25 per query token that counts as 1")
    rerank_share: float = Field(0.2, ge=0, le=1, description="of the semantic term, the reranker's where it ran")
    rerank_scale: float = Field(0.7, gt=0, description="its value is the logistic curve of scale · logit + shift")
    rerank_shift: float = Field(0.0, description="the same; 0: a logit of 0 counts as one half")


class RetrieverSettings(_Section):
    """How clauses are found."""

    candidates: int = Field(200, ge=1, description="taken from each search")
    top_k: int = Field(10, ge=1, le=100, description="passages handed to the reasoner")
    vector_deadline_s: float = Field(0.5, gt=0)
    keyword_deadline_s: float = Field(0.5, gt=0)
    graph_deadline_s: float = Field(0.3, gt=0)
    confidence_slope: float = Field(20.0, gt=0, description="of the logistic curve from final score to confidence")
    confidence_midpoint: float = Field(0.42, ge=0, le=1, description="the final score with confidence one half")
    low_confidence: float = Field(0.35, ge=0, le=1, description="below this, the answer says how to widen")
    strong_hits: int = Field(5, ge=0, description="references are followed from this many of the best clauses")
    documents_in_top_five: int = Field(2, ge=1)
    expired_stop: int = Field(3, ge=1, description="this many expired passages on top stop the search")
    reranker: _OptionalModel = Field(
        "auto", description="the reranker: used where it is served; `required`: its absence or failure is a degradation"
    )
    rerank_candidates: int = Field(10, ge=1, le=100, description="of the best, read by the reranker")
    rerank_chars: int = Field(300, ge=50, description="of a clause that it reads; the time it takes grows with them")
    rerank_timeout_s: float = Field(0.4, gt=0, description="the order stays where it takes longer")


class ReasonerSettings(_Section):
    """How an answer is made."""

    fast_passages: int = Field(3, ge=1)
    max_sentences: int = Field(6, ge=1)
    max_claims: int = Field(40, ge=1)
    refuse_below: float = Field(0.3, ge=0, le=1, description="evidence thinner than this is no answer")
    newer_by_days: int = Field(365, ge=1, description="a document this much newer prevails")
    conflict_similarity: float = Field(0.6, gt=0, le=1, description="sentences this alike, numbers apart, are one rule")
    matter_similarity: float = Field(0.45, gt=0, le=1, description="the same, where the pack knows the matter")
    context_similarity: float = Field(0.5, ge=0, le=1, description="and this alike in what they are about")
    negation_similarity: float = Field(0.8, gt=0, le=1, description="the same, for a rule and its denial")
    keep_relevance: float = Field(0.7, ge=0, le=1, description="of the best sentence's; the rest is left out")
    support_coverage: float = Field(0.9, gt=0, le=1, description="share of a sentence that its source must hold")
    max_list_chars: int = Field(800, ge=50, description="a list no longer than this is quoted whole")
    model_claims: bool = Field(False, description="have the served reasoner word the claims that are shown")
    claim_budget_s: float = Field(0.6, gt=0, description="claims that it has not worded by then stay extractive")
    claims_by_s: float = Field(1.4, gt=0, description="when wording must be over, from the start of the deep answer")
    claims_worded: int = Field(3, ge=1, description="at most, of one answer")
    claim_cache_entries: int = Field(4096, ge=0, description="worded claims kept in memory")


class BudgetSettings(_Section):
    """Seconds that each stage of a question may take."""

    route_s: float = Field(0.5, gt=0)
    retrieve_s: float = Field(1.0, gt=0)
    fast_s: float = Field(1.0, gt=0)
    deep_s: float = Field(2.0, gt=0)
    total_s: float = Field(5.0, gt=0)
    fallback_s: float = Field(1.0, gt=0, description="kept back for the fallback answer")
    max_follow_ups: int = Field(2, ge=0, le=2)


class AdmissionSettings(_Section):
    """How many questions are worked on at a time."""

    max_in_flight: int = Field(32, ge=1)
    max_waiting: int = Field(64, ge=0)
    max_wait_s: float = Field(0.5, ge=0)
    retry_after_s: float = Field(1.0, gt=0)


class AgentSettings(_Section):
    """Addresses of agents in other processes; empty means in this one."""

    router: str = ""
    retriever: str = ""
    reasoner: str = ""


class ServerSettings(_Section):
    """The gRPC server."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535, description="0 picks a free port")
    max_message_mb: int = Field(64, ge=4)
    grace_s: float = Field(5.0, ge=0, description="how long calls in flight may take at shutdown")
    worker_threads: int = Field(4, ge=1, description="threads for work that would block the event loop")
    answers_kept: int = Field(10_000, ge=1, description="answers that GetAnswer can still return")


class Settings(BaseSettings):
    """Everything that can be set, and its default."""

    model_config = SettingsConfigDict(
        env_prefix="TRIAS_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )
    yaml_file: ClassVar[Path | None] = None

    paths: PathSettings = PathSettings()
    launcher: LauncherSettings = LauncherSettings()
    canary: CanarySettings = CanarySettings()
    inference: InferenceSettings = InferenceSettings()
    publish: PublishSettings = PublishSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    domain: DomainSettings = DomainSettings()
    ingest: IngestSettings = IngestSettings()
    router: RouterSettings = RouterSettings()
    scoring: ScoringSettings = ScoringSettings()
    retriever: RetrieverSettings = RetrieverSettings()
    reasoner: ReasonerSettings = ReasonerSettings()
    budget: BudgetSettings = BudgetSettings()
    admission: AdmissionSettings = AdmissionSettings()
    agents: AgentSettings = AgentSettings()
    server: ServerSettings = ServerSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 (the signature is pydantic's)
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags (init) over environment over file."""
        if cls.yaml_file is None:
            return init_settings, env_settings
        return init_settings, env_settings, YamlConfigSettingsSource(settings_cls, yaml_file=cls.yaml_file)

    def as_yaml(self) -> str:
        """The whole tree, as `trias.yaml` would hold it; passwords are masked."""
        tree = self.model_dump(mode="json")
        if tree["knowledge"]["neo4j_password"]:
            tree["knowledge"]["neo4j_password"] = "********"  # noqa: S105
        return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)


def load_settings(file: Path | None = None, overrides: dict[str, Any] | None = None) -> Settings:
    """Read the tree.

    Args:
        file: a YAML file; without it ``trias.yaml`` of the working directory is read where it exists.
        overrides: what flags say, as a nested mapping: ``{"server": {"port": 9000}}``.

    Raises:
        ConfigurationError: the file is missing or malformed, or a value is wrong; names the file and each field.
    """
    if file is not None and not file.is_file():
        raise ConfigurationError(f"The settings file {file} does not exist.", hint="Check --config.")
    found = file or (Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None)
    bound = type("Settings", (Settings,), {"yaml_file": found, "__module__": __name__, "__doc__": Settings.__doc__})
    try:
        settings: Settings = bound(**(overrides or {}))
    except ValidationError as error:
        where = f" (file {found})" if found else ""
        lines = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise ConfigurationError(
            f"Settings are not valid{where}: {lines}.", hint="`trias config` prints all of them."
        ) from None
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The settings file {found} cannot be read: {error}.") from None
    except SettingsError as error:
        raise ConfigurationError(
            f"A setting of the environment cannot be read: {error}.", hint="A section's value is JSON."
        ) from None
    except (TypeError, ValueError):  # of a list, a number or a text where the tree should begin
        raise ConfigurationError(
            f"The settings file {found} does not hold a tree of settings.", hint="`trias config` prints one."
        ) from None
    return settings
