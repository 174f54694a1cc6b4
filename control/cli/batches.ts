/**
 * `gateway batches`: batches of tenants, and how far they are
 */
import type { Command } from "commander";
import { findTenant, page } from "./arguments.ts";
import { CliError, type Session, sessionOf } from "./session.ts";

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
