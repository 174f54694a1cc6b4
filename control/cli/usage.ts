/**
 * `gateway usage`
 */
import type { Command } from "commander";
import type { paths } from "../api/client/schema.generated.ts";
import { toPeriodMs } from "./arguments.ts";
import { sessionOf } from "./session.ts";

const DAY_MS = 86_400_000;

interface Since {
  readonly since: number;
}

interface LogOptions extends Since {
  readonly limit: string;
  readonly error?: string;
  readonly endUser?: string;
  readonly tag?: string;
  readonly admission?: NonNullable<LogQuery["admission"]>;
  readonly minTotal?: number;
  readonly minQueueWait?: number;
}
type TotalsQuery = NonNullable<paths["/api/v1/usage"]["get"]["parameters"]["query"]>;
type Totals = paths["/api/v1/usage"]["get"]["responses"][200]["content"]["application/json"][number];
type LogQuery = NonNullable<paths["/api/v1/usage/logs"]["get"]["parameters"]["query"]>;

interface DailyOptions {
  readonly timezone: string;
  readonly from?: string;
  readonly to?: string;
}

/** The names that the totals of a group have. */
const TOTALS = {
  tenant: ["tenant_id"],
  key: ["key_id"],
  model: ["model"],
  end_user: ["tenant_id", "end_user"],
} as const;

const since = ({ since: periodMs }: Since): { since_ms: string } => ({ since_ms: String(Date.now() - periodMs) });

export function usageCommands(program: Command): void {
  const usage = program.command("usage").description("what was used and what it cost");
  withSince(usage.command("summary").description("the whole gateway")).action(
    async (options: Since, command: Command) => {
      const session = sessionOf(command);
      session.record(
        await session.bodyOf(session.client.GET("/api/v1/overview/summary", { params: { query: since(options) } })),
      );
    },
  );
  const totals = async (query: TotalsQuery, names: readonly (keyof Totals)[], command: Command): Promise<void> => {
    const session = sessionOf(command);
    const rows = await session.bodyOf(session.client.GET("/api/v1/usage", { params: { query } }));
    session.list(rows, [...names, "requests", "input_tokens", "output_tokens", "total_tokens", "cost_usd"]);
  };
  for (const [group_by, names] of Object.entries(TOTALS) as [keyof typeof TOTALS, readonly (keyof Totals)[]][])
    withSince(usage.command(`${group_by.replace("_", "-")}s`).description(`by ${group_by.replace("_", " ")}`)).action(
      async (options: Since, command: Command) => await totals({ ...since(options), group_by }, names, command),
    );
  withSince(usage.command("tag <name>").description("by the values of a tag")).action(
    async (tag_name: string, options: Since, command: Command) =>
      await totals({ ...since(options), group_by: "tag", tag_name }, ["tag_value"], command),
  );
  withSince(usage.command("logs").description("requests, newest first"))
    .option("--limit <n>", "how many", "50")
    .option("--error <code>", "only those that failed with this error code")
    .option("--end-user <name>", "only those of this end user")
    .option("--tag <name=value>", "only those with this tag")
    .option("--admission <class>", "only those of this class: fast, queued, rejected, boon")
    .option("--min-total <period>", "only those that took this long: 30s, 5m", toPeriodMs)
    .option("--min-queue-wait <period>", "only those that waited this long for a slot", toPeriodMs)
    .action(async (options: LogOptions, command: Command) => {
      const session = sessionOf(command);
      const { limit, error, endUser, tag, admission, minTotal, minQueueWait } = options;
      const query: LogQuery = {
        ...since(options),
        limit,
        ...(error === undefined ? {} : { error_code: error }),
        ...(endUser === undefined ? {} : { end_user: endUser }),
        ...(tag === undefined ? {} : { tag }),
        ...(admission === undefined ? {} : { admission }),
        ...(minTotal === undefined ? {} : { min_total_ms: String(minTotal) }),
        ...(minQueueWait === undefined ? {} : { min_queue_wait_ms: String(minQueueWait) }),
      };
      const logs = await session.bodyOf(session.client.GET("/api/v1/usage/logs", { params: { query } }));
      const rows = logs.map((row) => ({ ...row, at: new Date(row.ts_ms).toISOString() }));
      session.list(rows, [
        "at",
        "model",
        "status_code",
        "error_code",
        "input_tokens",
        "output_tokens",
        "total_ms",
        "cost_usd",
        "request_id",
      ]);
    });
  usage
    .command("daily")
    .description("by day of a time zone")
    .option("--timezone <zone>", "IANA time zone in which days start", "UTC")
    .option("--from <day>", "first day, YYYY-MM-DD; a week ago when omitted")
    .option("--to <day>", "last day; today when omitted")
    .action(async ({ timezone, from, to }: DailyOptions, command: Command) => {
      const session = sessionOf(command);
      const query = {
        timezone,
        ...(from === undefined ? {} : { start_day: from }),
        ...(to === undefined ? {} : { end_day: to }),
      };
      const rows = await session.bodyOf(session.client.GET("/api/v1/usage/daily", { params: { query } }));
      session.list(rows, [
        "day",
        "requests",
        "refused_requests",
        "failed_requests",
        "total_tokens",
        "cost_usd",
        "p50_ttft_ms",
        "p95_total_ms",
      ]);
    });
  usage
    .command("log <request-id>")
    .description("show a request, with its trace and why the auto router chose its model")
    .action(async (request_id: string, _options: unknown, command: Command) => {
      const session = sessionOf(command);
      const params = { path: { request_id } };
      session.record(await session.bodyOf(session.client.GET("/api/v1/usage/logs/{request_id}", { params })));
    });
}

function withSince(command: Command): Command {
  return command.option("--since <period>", "how far back: 90m, 24h, 7d", toPeriodMs, DAY_MS);
}
