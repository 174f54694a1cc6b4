/**
 * `gateway batches`: batches of tenants, and how far they are
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { findTenant, page } from "./arguments.ts";
import { CliError, type Session, sessionOf } from "./session.ts";

const WATCH_EVERY_MS = 1000;

export function batchCommands(program: Command): void {
  const batches = program.command("batches").description("batches that run on idle slots");
  batches
    .command("list")
    .description("list batches, newest first")
    .option("--tenant <tenant>", "of this tenant, by name or id")
    .action(async ({ tenant }: { readonly tenant?: string }, command: Command) => {
      const session = sessionOf(command);
      const of = tenant === undefined ? {} : { tenant_id: (await findTenant(session, tenant)).id };
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/batches", { params: { query: { ...page(cursor), ...of } } }),
      );
      session.list(rows, ["batch_id", "tenant_name", "status", "lines_total", "lines_completed", "lines_failed"]);
    });
  batches
    .command("show <batch>")
    .description("show a batch")
    .action(async (batch: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      session.record(await findBatch(session, batch));
    });
  batches
    .command("watch <batch>")
    .description("print how far a batch is, each time that it changes, and the batch when it has ended")
    .action(async (batch: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const path = { id: (await findBatch(session, batch)).id };
      for (let shown = ""; ; await sleep(WATCH_EVERY_MS)) {
        const now = await session.bodyOf(session.client.GET("/api/v1/batches/{id}", { params: { path } }));
        const ended = now.lines_completed + now.lines_failed;
        const line = `${now.status}: ${ended} of ${now.lines_total} lines, ${now.lines_failed} failed`;
        if (line !== shown) session.say(line);
        shown = line;
        if (now.ended_at !== null) return session.record(now);
      }
    });
  batches
    .command("cancel <batch>")
    .description("cancel a batch: no further line starts")
    .action(async (batch: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findBatch(session, batch);
      const path = { path: { id } };
      session.record(await session.bodyOf(session.client.POST("/api/v1/batches/{id}/cancel", { params: path })));
    });
}

async function findBatch(session: Session, word: string) {
  const query = { q: word };
  const [batch] = await session.bodyOf(session.client.GET("/api/v1/batches", { params: { query } }));
  if (batch === undefined) throw new CliError(`there is no batch '${word}'`);
  return batch;
}
