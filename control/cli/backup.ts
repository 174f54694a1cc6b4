/**
 * `gateway backup`
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { printableJson } from "../../shared/text/printable.ts";
import type { Schemas } from "../api/client/client.ts";
import { repeatedName } from "../kernel/repeated-name.ts";
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
      session.record(await session.bodyOf(session.client.POST("/api/v1/backup/restore", { params, body })));
    });
}

function readFile(path: string): Schemas["Backup"] {
  let bytes: Uint8Array;
  let backup: Schemas["Backup"];
  try {
    bytes = readFileSync(path);
    backup = JSON.parse(new TextDecoder().decode(bytes)) as Schemas["Backup"];
  } catch (error) {
    const reason = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new CliError(`${path} ${reason}`);
  }
  const repeated = repeatedName(bytes);
  if (repeated !== null) throw new CliError(`${path} has ${repeated} twice`);
  return backup;
}
