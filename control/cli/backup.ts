/**
 * `gateway backup`
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { printableJson } from "../../shared/text/printable.ts";
import type { Schemas } from "../api/client/client.ts";
import { repeatedName } from "../kernel/repeated-name.ts";
import { systemProblem } from "../kernel/system-problem.ts";
import { CliError, sessionOf } from "./session.ts";

export function backupCommands(program: Command): void {
  const backup = program.command("backup").description("the whole configuration as one file");
  backup
    .command("export [file]")
    .description("write the configuration to a file, or to standard output; it holds credentials")
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const session = sessionOf(command);
      const text = await session.bodyOf(session.client.GET("/api/v1/backup/export", { parseAs: "text" }));
      if (file === undefined) return void process.stdout.write(`${printableJson(text)}\n`);
      writeFileSync(file, text, { mode: 0o600 });
      session.say(`written to ${file}; it holds credentials, keep it safe`);
    });
  backup
    .command("restore <file>")
    .description("merge a file into the configuration, all or nothing")
    .option("--dry-run", "change nothing; show what would be added and changed")
    .action(async (file: string, { dryRun = false }: { dryRun?: boolean }, command: Command) => {
      const session = sessionOf(command);
      const params = { query: dryRun ? { dry_run: "true" as const } : {} };
      const body = readFile(file);
      const report = await session.bodyOf(session.client.POST("/api/v1/backup/restore", { params, body }));
      const { differences } = report;
      if (differences === undefined) session.record(report);
      else session.tables(report, differencesIn(differences));
    });
}

/** A table of the kinds of records, and one of the records that would be added or changed. */
function differencesIn(differences: NonNullable<Schemas["RestoreReport"]["differences"]>) {
  const kinds = Object.entries(differences);
  const objects = kinds.flatMap(([kind, { objects: ofKind }]) =>
    ofKind.flatMap(({ name, change, fields }) => {
      const changed = Object.entries(fields);
      if (changed.length === 0) return [{ kind, name, change }];
      return changed.map(([field, value]) => {
        const [before, after] = Array.isArray(value) ? (value as readonly unknown[]) : [value, value];
        return { kind, name, change, field, before, after };
      });
    }),
  );
  return [
    {
      rows: kinds.map(([kind, counts]) => ({ kind, ...counts })),
      columns: ["kind", "added", "changed", "unchanged", "only_here"],
    },
    ...(objects.length === 0
      ? []
      : [{ rows: objects, columns: ["kind", "name", "change", "field", "before", "after"] }]),
  ];
}

function readFile(path: string): Schemas["Backup"] {
  let bytes: Uint8Array;
  let backup: Schemas["Backup"];
  try {
    bytes = readFileSync(path);
    backup = JSON.parse(new TextDecoder().decode(bytes)) as Schemas["Backup"];
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? "is not JSON" : `cannot be read: ${systemProblem(error) ?? "unknown error"}`;
    throw new CliError(`${path} ${reason}`);
  }
  const repeated = repeatedName(bytes);
  if (repeated !== null) throw new CliError(`${path} has ${repeated} twice`);
  return backup;
}
