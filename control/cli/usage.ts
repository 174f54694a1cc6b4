/**
 * `gateway usage`
 */
import type { Command } from "commander";
import { toPeriodMs } from "./arguments.ts";
import { sessionOf } from "./session.ts";

const DAY_MS = 86_400_000;

interface Since {
  readonly since: number;
}

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
  for (const group_by of ["tenant", "key", "model"] as const) {
    withSince(usage.command(`${group_by}s`).description(`by ${group_by}`)).action(
      async (options: Since, command: Command) => {
        const session = sessionOf(command);
        const query = { ...since(options), group_by };
        const rows = await session.bodyOf(session.client.GET("/api/v1/usage", { params: { query } }));
        const name = ({ tenant: "tenant_id", key: "key_id", model: "model" } as const)[group_by];
        session.list(rows, [name, "requests", "input_tokens", "output_tokens", "total_tokens", "cost_usd"]);
      },
    );
  }
  withSince(usage.command("logs").description("requests, newest first"))
    .option("--limit <n>", "how many", "50")
    .action(async (options: Since & { limit: string }, command: Command) => {
      const session = sessionOf(command);
      const query = { ...since(options), limit: options.limit };
      const logs = await session.bodyOf(session.client.GET("/api/v1/usage/logs", { params: { query } }));
      const rows = logs.map((row) => ({ ...row, at: new Date(row.ts_ms).toISOString() }));
      session.list(rows, [
        "at",
        "model",
        "status_code",
        "input_tokens",
        "output_tokens",
        "total_ms",
        "cost_usd",
        "request_id",
      ]);
    });
  usage
    .command("log <request-id>")
    .description("one request, with its trace and why the auto router chose its model")
    .action(async (request_id: string, _options: unknown, command: Command) => {
      const session = sessionOf(command);
      const params = { path: { request_id } };
      session.record(await session.bodyOf(session.client.GET("/api/v1/usage/logs/{request_id}", { params })));
    });
}

function withSince(command: Command): Command {
  return command.option("--since <period>", "how far back: 90m, 24h, 7d", toPeriodMs, DAY_MS);
}
