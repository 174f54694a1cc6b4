/**
 * `gateway doctor`: examines a running installation from outside. Unlike the other commands it continues without an
 * answer of the Management API, because that is one of the things that it has to say.
 */
import { type Command, InvalidArgumentError } from "commander";
import { terminalText } from "../../shared/text/printable.ts";
import { censored } from "../../shared/text/redaction.ts";
import { toNumber } from "./arguments.ts";
import { type DoctorFinding, findingsOf, worstOf } from "./doctor/finding.ts";
import type { TlsEndpoint } from "./doctor/tls-endpoint.ts";
import { printJson, printTable } from "./output.ts";
import { adminUrlOf, CliError, readAdminToken } from "./session.ts";

const EXIT_CODES = { ok: 0, warning: 1, failure: 2 } as const;
const TIMEOUT_SECS_MAX = 60;
const RUNBOOKS = "docs/reference/alerts.md";

interface DoctorOptions {
  readonly metrics?: string;
  readonly edge: readonly string[];
  readonly tls: readonly TlsEndpoint[];
  readonly backups?: string;
  readonly backupHours: number;
  readonly timeout: number;
}

/** Adds the command. `release`: of this program. */
export function doctorCommand(program: Command, release: string): void {
  program
    .command("doctor")
    .description(
      "check a running installation (stores, cells, clocks, certificates, permissions, lag) and say what to fix",
    )
    .option(
      "--metrics <url>",
      "the metrics listener (default: GATEWAY_METRICS_LISTEN, else port 9091 beside the admin listener)",
      toWebUrl,
    )
    .option("--edge <url>", "an address of the data plane; may be repeated", gathered(toWebUrl), [])
    .option("--tls <host:port>", "a TLS endpoint whose certificate to check; may be repeated", gathered(toEndpoint), [])
    .option("--backups <folder>", "the folder of backups, for the age of the newest")
    .option("--backup-hours <hours>", "how old the newest backup may be", toPositive, 26)
    .option("--timeout <secs>", `for each part, at most ${TIMEOUT_SECS_MAX}`, toTimeout, 5)
    .addHelpText(
      "after",
      "\nStores, cells and slots come from the control service's variables, if they are set." +
        "\nExit code: 0 no problems, 1 warnings, 2 failures.",
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const { url, json = false } = command.optsWithGlobals<{ url?: string; json?: boolean }>();
      const findings = (await examine(options, url, release)).map(withoutSecrets);
      const state = worstOf(findings);
      if (json) printJson({ state, release, findings });
      else print(findings);
      process.exitCode = EXIT_CODES[state];
    });
}

/** Never rejects: an exit code of 1 would say that nothing fails. */
async function examine(
  options: DoctorOptions,
  url: string | undefined,
  release: string,
): Promise<readonly DoctorFinding[]> {
  try {
    return await examineAll(options, url, release);
  } catch (error) {
    const { failure } = findingsOf("doctor");
    // by its name, because the class's module would be loaded for every command
    if (error instanceof CliError || (error instanceof Error && error.name === "EnvError"))
      return [failure("configuration", error.message, "fix it: nothing was checked")];
    const detail = `ended with an error (${error instanceof Error ? error.name : "unknown"})`;
    return [failure("configuration", detail, "this is a defect of the doctor: report it with the name of the error")];
  }
}

/** The modules that open stores are loaded here, because few commands need them. */
async function examineAll(
  options: DoctorOptions,
  url: string | undefined,
  release: string,
): Promise<readonly DoctorFinding[]> {
  const [{ diagnose }, { parseDoctorEnv }] = await Promise.all([
    import("./doctor/diagnose.ts"),
    import("./doctor/doctor-env.ts"),
  ]);
  const { backups, backupHours } = options;
  return await diagnose({
    env: parseDoctorEnv(process.env),
    adminUrl: adminUrlOf(url),
    adminToken: readAdminToken(),
    metricsUrl: options.metrics ?? null,
    edgeUrls: options.edge.map((edge) => new URL(edge).origin),
    tlsEndpoints: options.tls,
    backups: backups === undefined ? null : { folder: backups, maxAgeHours: backupHours },
    release,
    runbooks: RUNBOOKS,
    withinMs: options.timeout * 1000,
  });
}

function print(findings: readonly DoctorFinding[]): void {
  const rows = findings.map(({ state, part, check, detail }) => ({ state, part, check, detail }));
  printTable(rows, ["state", "part", "check", "detail"]);
  const counts = (["failure", "warning", "ok", "skipped"] as const).map(
    (state) => `${findings.filter((finding) => finding.state === state).length} ${state}`,
  );
  const todo = findings.flatMap(({ state, part, check, fix }) =>
    state === "failure" || state === "warning" ? [`  ${part} (${check}): ${fix ?? ""}`] : [],
  );
  const lines = [...(todo.length === 0 ? [] : ["", "what to do:", ...todo]), "", counts.join(", ")];
  process.stdout.write(`${lines.map(terminalText).join("\n")}\n`);
}

/** Nothing that a finding says is a secret; this is the second lock, for versions and names that others choose. */
function withoutSecrets(finding: DoctorFinding): DoctorFinding {
  const values = Object.entries(process.env).flatMap(([name, value = ""]) =>
    /TOKEN|PASSWORD|SECRET|_KEY$|PEPPER|_URL$/.test(name) && value.length >= 8 ? [value, ...passwordIn(value)] : [],
  );
  const clean = (text: string): string => censored(values.reduce((left, value) => left.replaceAll(value, "..."), text));
  return { ...finding, detail: clean(finding.detail), fix: finding.fix === null ? null : clean(finding.fix) };
}

function passwordIn(value: string): readonly string[] {
  const password = URL.parse(value)?.password ?? "";
  return password.length < 4 ? [] : [password, decoded(password)];
}

/** A password may have a percent sign that escapes nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function toWebUrl(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? "")) throw new InvalidArgumentError("Not an http or https URL.");
  return text;
}

function toEndpoint(text: string): TlsEndpoint {
  const [, host, port] = /^(\[[0-9a-fA-F:]+\]|[^:\s/]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) throw new InvalidArgumentError("Not host:port.");
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port), startsWith: "tls" };
}

function toPositive(text: string): number {
  const value = toNumber(text);
  if (value <= 0) throw new InvalidArgumentError("Must be above 0.");
  return value;
}

function toTimeout(text: string): number {
  const secs = toPositive(text);
  if (secs > TIMEOUT_SECS_MAX) throw new InvalidArgumentError(`Must be at most ${TIMEOUT_SECS_MAX}.`);
  return secs;
}

/** An option that may be repeated. */
function gathered<T>(read: (text: string) => T): (text: string, before: readonly T[]) => readonly T[] {
  return (text, before) => [...before, read(text)];
}
