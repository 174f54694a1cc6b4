import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UsageLogDetail } from "../../../shared/schema/usage-reads.ts";
import { oneLine } from "../../../shared/text/printable.ts";
import { Waterfall } from "../../charts/waterfall.tsx";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { type ExplainedRow, explainRequest } from "../../explain/explain-request.ts";
import { RowCost } from "../../forms/usage/cost.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { commonText } from "../../messages/common.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant } from "../../time/instants.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Code, CopyButton } from "../../ui/copy.tsx";
import { formatCount, formatText, formatUsd } from "../../ui/format.ts";
import { Facts } from "../../ui/layout.tsx";
import { Empty, Failure, Notice } from "../../ui/states.tsx";
import { requestCall } from "./api-calls.ts";
import { CapturedRequest } from "./captured-request.tsx";
import { columnFacts, keyName, Name, type SeenLog } from "./log-columns.tsx";
import classes from "./logs-page.module.css";
import { ADMISSION_TEXTS, CACHE_TEXTS } from "./logs-search.ts";

const text = texts("logs", logsTexts);

/** A capture is not kept longer. */
const CAPTURED_MS = 24 * 60 * 60 * 1000;

/** A row that has what a sentence and a waterfall need; a tenant's user gets all of that. */
type DetailRow = SeenLog & Partial<UsageLogDetail>;

interface DetailProps {
  readonly requestId: string;
  /** Its row of the list, where it is there; the rest is read. */
  readonly listed: SeenLog | undefined;
  readonly role: "admin" | "user";
}

/** Reads one request. A row does not change, so that it is read once. */
function useRequest({ requestId, listed }: DetailProps) {
  const found = useQuery({
    ...read("/api/v1/usage/logs/{request_id}", { params: { path: { request_id: requestId } } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const detail = found.isPlaceholderData ? undefined : found.data;
  return { found, isWhole: detail !== undefined, row: (detail ?? listed) as DetailRow | undefined };
}

/** The heading of an open request: how it ended. */
export function RequestTitle(props: DetailProps) {
  const { row } = useRequest(props);
  return row === undefined ? text("request") : explainRequest(row as ExplainedRow, props.role).title;
}

/** One request: why it was slow or refused, what would change that, where its time went, and all its facts. */
export function RequestDetail(props: DetailProps) {
  const { found, isWhole, row } = useRequest(props);
  const { role, requestId } = props;
  const user = useCurrentUser();
  if (found.error?.status === 404 && props.listed === undefined)
    return <Empty title={text("requestGoneTitle")}>{text("requestGone")}</Empty>;
  if (row === undefined)
    return found.error === null ? null : (
      <Failure
        title={text("requestFailed")}
        error={found.error}
        onRetry={found.refetch}
        isRetrying={found.isFetching}
      />
    );
  const { sentences, advice } = explainRequest(row as ExplainedRow, role);
  const { spans = [], auto_route: choice = null } = row;
  return (
    <>
      {found.error !== null && (
        <Notice tone="warn">
          {text("requestFailed")} <code>{found.error.code}</code>
        </Notice>
      )}
      {sentences.length > 0 && (
        <div className={classes["sentences"]}>
          {sentences.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      )}
      {advice.length > 0 && (
        <Part title={text("advice")}>
          {advice.map((one) => (
            <p key={one.text}>{one.link === null ? one.text : <TargetLink target={one.link}>{one.text}</TargetLink>}</p>
          ))}
        </Part>
      )}
      <Part title={text("whereTime")}>
        <Waterfall row={row as ExplainedRow & SeenLog} spans={spans} />
        {role === "admin" && isWhole && spans.length === 0 && <p className={classes["muted"]}>{text("notTraced")}</p>}
      </Part>
      {choice !== null && <Choice choice={choice} />}
      <Part title={text("facts")}>
        <RequestFacts row={row} role={role} />
      </Part>
      {user.role === "admin" && row.tenant_id !== undefined && serverNowMs() - row.ts_ms < CAPTURED_MS && (
        <Part title={text("captured")}>
          <CapturedRequest requestId={requestId} tenantId={row.tenant_id} />
        </Part>
      )}
      {role === "admin" && (
        <Part title={text("apiCall")}>
          <Code text={requestCall(requestId)} label={commonText("copy")} doneLabel={commonText("copied")} />
        </Part>
      )}
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={classes["part"]}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Why the auto router took this model. */
function Choice({ choice }: { readonly choice: NonNullable<UsageLogDetail["auto_route"]> }) {
  const { chosen, source, tags, candidates, excluded } = choice;
  return (
    <Part title={text("choice")}>
      <Facts
        facts={[
          [text("choiceChosen"), chosen === null ? text("choiceNone") : <Name key="chosen" of={chosen} />],
          [text("choiceTags"), formatText(oneLine(tags.join(", ")))],
          [text("choiceSource"), formatText(oneLine(source))],
        ]}
      />
      {candidates.length > 0 && (
        <table className={classes["scores"]}>
          <thead>
            <tr>
              <th scope="col">{text("choiceModel")}</th>
              <th scope="col" className={classes["figure"]}>
                {text("choiceScore")}
              </th>
            </tr>
          </thead>
          <tbody>
            {candidates.slice(0, CANDIDATES_MAX).map(({ model, score }) => (
              <tr key={model}>
                <td>
                  <Name of={model} />
                </td>
                <td className={classes["figure"]}>
                  {Number.isFinite(score) ? score.toPrecision(3) : formatText(null)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {excluded.length > 0 && (
        <Facts
          facts={excluded
            .slice(0, CANDIDATES_MAX)
            .map(({ model, condition }) => [<Name key={model} of={model} />, oneLine(condition)] as const)}
        />
      )}
    </Part>
  );
}

/** Of rows without a tenant or a key. */
const NIL_UUID = "00000000-0000-0000-0000-000000000000";
/** Of more models only the best are shown; the API call has all. */
const CANDIDATES_MAX = 20;

/** Few upstreams report them. */
const PARTS = [
  ["factCacheWrite", "cache_write_tokens"],
  ["factAudioIn", "audio_input_tokens"],
  ["factImageIn", "image_input_tokens"],
  ["factAudioOut", "audio_output_tokens"],
  ["factImageOut", "image_output_tokens"],
] as const;

function RequestFacts({ row, role }: { readonly row: DetailRow; readonly role: "admin" | "user" }) {
  const { zone, label } = useZone();
  const { tenant_id: tenantId = NIL_UUID, key_id: keyId = NIL_UUID, model = "", session_id: session = "" } = row;
  const facts: readonly (readonly [string, ReactNode] | null)[] = [
    [
      text("factId"),
      <span key="id" className={classes["live"]}>
        <code>{oneLine(row.request_id)}</code>
        <CopyButton text={row.request_id} label={commonText("copy")} doneLabel={commonText("copied")} />
      </span>,
    ],
    [text("factEnded"), `${formatInstant(zone, row.ts_ms, "ms")}, ${label}`],
    [
      text("tenant"),
      tenantId === NIL_UUID ? (
        NOTHING
      ) : (
        <Link key="tenant" to="/tenants/$tenantId" params={{ tenantId }}>
          <Name of={row.tenant_name === "" ? tenantId : row.tenant_name} />
        </Link>
      ),
    ],
    [
      text("key"),
      keyId === NIL_UUID ? (
        NOTHING
      ) : (
        <Link key="key" to="/logs" search={{ key_id: keyId }}>
          <Name of={keyName(row) === "" ? keyId : keyName(row)} />
        </Link>
      ),
    ],
    [
      text("model"),
      model === "" ? (
        NOTHING
      ) : (
        <Link key="model" to="/logs" search={{ model }}>
          <Name of={model} />
        </Link>
      ),
    ],
    given("factServed", row.served_model === model ? "" : row.served_model, (served) => <Name of={served} />),
    [
      text("factSession"),
      session === "" ? (
        NOTHING
      ) : (
        <span key="session" className={classes["live"]}>
          <Name of={session} />
          <Link to="/logs" search={{ session_id: session, period: "30d" }}>
            {text("factSessionAll")}
          </Link>
        </span>
      ),
    ],
    ...columnFacts(row, role, ["status"]),
    given("errorCode", row.error_code, (code) => <Name of={code} />),
    given("factUpstreamStatus", row.upstream_status, (status) => String(status)),
    ...columnFacts(row, role, ["type"]),
    [text("admission"), formatText(row.admission && text(ADMISSION_TEXTS[row.admission]))],
    [text("cache"), formatText(row.cache_status && text(CACHE_TEXTS[row.cache_status]))],
    [text("factTokens"), `${formatCount(row.input_tokens)} + ${formatCount(row.output_tokens)}`],
    given("factCached", row.cached_tokens, formatCount),
    ...PARTS.map(([name, field]) => given(name, row[field], formatCount)),
    given("factReasoning", row.reasoning_tokens, formatCount),
    given("factSeconds", row.input_seconds, formatCount),
    [text("columnCost"), <RowCost key="cost" row={row} />],
    ...columnFacts(row, role, ["queue", "gateway", "first", "total", "attempts", "endpoint", "cell"]),
    given("factWeight", row.weight, formatCount),
    given("factEstimated", row.estimated_tokens, formatCount),
    given("factEndUser", row.end_user, (user) => <Name of={user} />),
    given("factTags", row.tags, (tags) => <Name of={tags} />),
    given("factDevice", row.device_id, (device) => <Name of={device} />),
    given("factEnergy", row.energy_wh, (energy) => unitText(energy, "Wh")),
    given("factEnergyCost", row.energy_cost_usd, formatUsd),
    given("factCarbon", row.co2_g, (carbon) => unitText(carbon, "g")),
  ];
  return <Facts facts={facts.filter((fact) => fact !== null).filter(([, value]) => value !== NOTHING)} />;
}

/** How a value that is absent is shown in a list. */
const NOTHING = formatText(null);

/** A fact of a field, where the reader gets it. A row has 0 or "" for what did not happen. */
function given<T extends string | number>(
  name: keyof typeof logsTexts,
  value: T | undefined,
  shown: (value: T) => ReactNode,
) {
  return value === undefined || value === 0 || value === "" ? null : ([text(name), shown(value)] as const);
}

function unitText(amount: number, unit: string): string {
  return Number.isFinite(amount) ? `${amount.toPrecision(3)} ${unit}` : NOTHING;
}
