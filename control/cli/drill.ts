/**
 * `gateway drill`. The one command that asks no running gateway: it restores a backup into a database in its own memory.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Command } from "commander";
import { importSealKey, type SealKey } from "../../shared/crypto/seal.ts";
import { envOldSecrets } from "../../shared/env/env-fields.ts";
import { GatewayError } from "../../shared/errors.ts";
import { placeNamed } from "../backup/backup-env.ts";
import { backupName } from "../backup/backup-name.ts";
import type { DrillReport } from "../backup/drill.ts";
import { type BackupPlace, BackupPlaceError } from "../backup/places/backup-place.ts";
import { newestBackup } from "../backup/retention.ts";
import { EnvError } from "../kernel/env-field.ts";
import { systemProblem } from "../kernel/system-problem.ts";
import { printJson, printRecord } from "./output.ts";
import { CliError } from "./session.ts";

/** How long a folder or bucket may take, for its list and for a file. */
const READ_WITHIN_MS = 120_000;

/** Adds the command. */
export function drillCommand(program: Command): void {
  program
    .command("drill <path>")
    .description(
      "restore a backup file, or the newest of a folder or s3://bucket/prefix, into a database in memory, and compare the two",
    )
    .option(
      "--gateway <id>",
      "whose backups to use, if the place has those of several gateways; the id ends a backup's name",
    )
    .option("--key", "read a key's secret from standard input; it must authenticate after the restore")
    .action(async (path: string, { key = false, gateway }: { key?: boolean; gateway?: string }, command: Command) => {
      const started = performance.now();
      const { file, text } = await backupAt(path, gateway);
      const report = await runDrill(file, text, key ? readFileSync(0, "utf8").trim() : undefined);
      const took = { file, ...report, seconds: Math.round(performance.now() - started) / 1000 };
      if (command.optsWithGlobals<{ json?: boolean }>().json === true) printJson(took);
      else printRecord(took);
      if (report.problems.length > 0) throw new CliError(`the drill failed:\n${report.problems.join("\n")}`);
    });
}

/** Throws CliError. The modules that open a database are loaded here, because no other command needs them. */
async function runDrill(file: string, text: string, keySecret: string | undefined): Promise<DrillReport> {
  const input = parsed(file, text);
  const encryptionKey = process.env["GATEWAY_ENCRYPTION_KEY"] || undefined;
  const oldKeys = oldValues("GATEWAY_ENCRYPTION_KEYS_OLD");
  const sealKey = encryptionKey === undefined ? undefined : await importKeys(encryptionKey, oldKeys);
  const [{ drill }, { connect }, { migrate }, { importBackupKey }] = await Promise.all([
    import("../backup/drill.ts"),
    import("../db/connect.ts"),
    import("../db/migrate.ts"),
    import("../kernel/encryption/secret-macs.ts"),
  ]);
  const connection = await connect("pglite:");
  try {
    await migrate(connection);
    return await drill(input, {
      connection,
      sealKey,
      backupKey: encryptionKey === undefined ? undefined : await importBackupKey(encryptionKey, oldKeys),
      pepper: process.env["GATEWAY_API_KEY_PEPPER"] || undefined,
      oldPeppers: oldValues("GATEWAY_API_KEY_PEPPERS_OLD"),
      ...(keySecret === undefined ? {} : { keySecret }),
      now: () => new Date(),
      randomBytes: (count) => new Uint8Array(randomBytes(count)),
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message, details = [] } = error.body.error;
    throw new CliError([message, ...details.map((detail) => `  ${detail.path}: ${detail.message}`)].join("\n"));
  } finally {
    await connection.close();
  }
}

async function importKeys(current: string, old: readonly string[]): Promise<SealKey> {
  return await importSealKey(current, old).catch(() => {
    throw new CliError("GATEWAY_ENCRYPTION_KEY, and each of GATEWAY_ENCRYPTION_KEYS_OLD, must be base64 of 32 bytes");
  });
}

function oldValues(variable: string): readonly string[] {
  return envOldSecrets.parse(process.env[variable] ?? "");
}

/** A file, or the newest backup of a gateway in a folder or bucket by the time in its name. Throws CliError. */
async function backupAt(
  path: string,
  gateway: string | undefined,
): Promise<{ readonly file: string; readonly text: string }> {
  if (!path.startsWith("s3:")) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new CliError(`${path} does not exist`);
    if (!stat.isDirectory()) return { file: path, text: read(path) };
  }
  try {
    return await newestAt(placeNamed(path, process.env["GATEWAY_BACKUP_OPTIONS"]), gateway);
  } catch (error) {
    if (error instanceof BackupPlaceError || error instanceof EnvError) throw new CliError(`${path}: ${error.message}`);
    throw error;
  }
}

async function newestAt(
  place: BackupPlace,
  gateway: string | undefined,
): Promise<{ readonly file: string; readonly text: string }> {
  const signal = AbortSignal.timeout(READ_WITHIN_MS);
  const { name, gateways } = newestBackup(await place.names(signal), Date.now(), gateway);
  if (name === undefined) {
    const whose = `${place.shown} has backups of the gateways ${gateways.join(", ")}`;
    if (gateway !== undefined)
      throw new CliError(gateways.length > 0 ? `${whose}, not of ${gateway}` : nothingIn(place));
    throw new CliError(gateways.length > 1 ? `${whose}: choose one with --gateway` : nothingIn(place));
  }
  return {
    file: `${place.shown.replace(/\/$/, "")}/${name}`,
    text: Buffer.from(await place.read(name, signal)).toString("utf8"),
  };
}

function nothingIn({ shown }: BackupPlace): string {
  return `${shown} has no file that is named as a backup, such as ${backupName(new Date())}`;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(`${path} cannot be read: ${systemProblem(error) ?? "unknown error"}`);
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${file} is not JSON`);
  }
}
