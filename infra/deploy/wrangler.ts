/**
 * Asks the platform through wrangler, and reads its answers. Secrets of the gateway are not handed to wrangler's process; only
 * the first upload of a Worker gets some, over its standard input.
 */
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import type { Account } from "./account.ts";
import { type CommandResult, failureIn, versionIn, WranglerError, wranglerFailure } from "./wrangler-answer.ts";

/** How a command is run. */
export interface HowToRun {
  /** The command's standard input; undefined: none. */
  readonly stdin?: string;
  /** The id of the account that it is about; undefined: none is chosen yet. */
  readonly account?: string;
  /** Whether an interrupt ends it. Never a command that changes something: its effect must be known. */
  readonly interruptible: boolean;
}

/** Runs wrangler with these arguments. Resolves however the command ends; rejects when an interrupt ended it. */
export type RunWrangler = (args: readonly string[], how: HowToRun) => Promise<CommandResult>;

/** The current deployment. */
export interface Deployed {
  /** Whether the account has a Worker of this name. */
  readonly exists: boolean;
  /** The versions that share the traffic, with their percentages; none: the Worker has no deployment. */
  readonly versions: readonly { readonly id: string; readonly percentage: number }[];
  /** The newest object migration that the platform has applied; null: none. */
  readonly migrationTag: string | null;
  /** The tag that the upload gave the serving version; null: it has none, or nothing serves. */
  readonly tag: string | null;
}

const secretsSchema = z.array(z.object({ name: z.string() }));
const deploymentSchema = z.object({
  versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
});
const versionSchema = z.object({
  annotations: z.object({ "workers/tag": z.string().nullish() }).nullish(),
  resources: z.object({ script_runtime: z.object({ migration_tag: z.string().nullish() }) }),
});
const accountSchema = z.object({
  loggedIn: z.boolean().optional(),
  email: z.string().nullish(),
  accounts: z.array(z.object({ id: z.string(), name: z.string() })).default([]),
});

/** The account API's error for a Worker that does not exist: this number and no other. */
const NO_SUCH_WORKER = 10007;
/** Wrangler's own words for a Worker that exists, for example because a secret of it was set, and was never deployed. */
const NO_DEPLOYMENTS = /^The Worker \S+ has no deployments\.$/;

/** What wrangler reads secrets from: a path that leads to its own standard input. */
const STDIN = "/dev/stdin";

/** The commands of one environment. */
export class Wrangler {
  readonly #run: RunWrangler;
  readonly #of: readonly string[];
  #account: { readonly account?: string } = {};

  /** @param configPath of wrangler.toml */
  constructor(run: RunWrangler, configPath: string, environment: string) {
    this.#run = run;
    this.#of = ["--config", configPath, "--env", environment];
  }

  /** Who is signed in, and the accounts that they can use. Throws WranglerError if nobody is. */
  async whoami(): Promise<{ readonly who: string; readonly accounts: readonly Account[] }> {
    const result = await this.#ask(["whoami", "--json"]);
    const account = accountSchema.safeParse(readJson(result.stdout));
    if (result.exitCode !== 0 || !account.success || account.data.loggedIn === false)
      throw wranglerFailure(["whoami"], result, "sign in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN");
    return { who: account.data.email ?? "a token of the account", accounts: account.data.accounts };
  }

  /** From now on every command is about this account. */
  use({ id }: Account): void {
    this.#account = { account: id };
  }

  /** Builds without uploading; returns the size of the upload, uncompressed and compressed, as wrangler prints it. */
  async build(folder: string): Promise<{ readonly sizeKib: number; readonly gzipKib: number }> {
    const args = ["deploy", "--dry-run", "--outdir", folder, ...this.#of];
    const { stdout } = mustSucceed(args, await this.#ask(args));
    const size = /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(stripVTControlCharacters(stdout));
    if (size === null) throw new WranglerError("wrangler deploy --dry-run did not say how large the upload is");
    return { sizeKib: Number(size[1]), gzipKib: Number(size[2]) };
  }

  /** The names of the secrets of a Worker that exists. */
  async secretNames(): Promise<readonly string[]> {
    const result = await this.#ask(["secret", "list", "--format", "json", ...this.#of]);
    const secrets = secretsSchema.safeParse(readJson(result.stdout));
    if (result.exitCode !== 0 || !secrets.success) throw wranglerFailure(["secret", "list"], result);
    return secrets.data.map(({ name }) => name);
  }

  /** What serves now, and which objects it has. */
  async deployed(): Promise<Deployed> {
    const traffic = await this.traffic(true);
    const first = traffic.versions.find(({ percentage }) => percentage > 0);
    return { ...traffic, ...(first === undefined ? { migrationTag: null, tag: null } : await this.#tags(first.id)) };
  }

  /**
   * What serves now. Only the answers that say exactly this count as "not deployed".
   *
   * @param interruptible false: also runs after an interrupt, to report the remaining state
   */
  async traffic(interruptible: boolean): Promise<Pick<Deployed, "exists" | "versions">> {
    const result = await this.#ask(["deployments", "status", "--json", ...this.#of], interruptible);
    const failure = result.exitCode === 0 ? null : failureIn(result);
    if (failure?.code === NO_SUCH_WORKER) return { exists: false, versions: [] };
    if (failure?.code === null && NO_DEPLOYMENTS.test(failure.message)) return { exists: true, versions: [] };
    const deployment = deploymentSchema.safeParse(readJson(result.stdout));
    if (result.exitCode !== 0 || !deployment.success) throw wranglerFailure(["deployments", "status"], result);
    const versions = deployment.data.versions.map(({ version_id: id, percentage }) => ({ id, percentage }));
    if (!versions.some(({ percentage }) => percentage > 0))
      throw new WranglerError("wrangler deployments status names no version with traffic");
    return { exists: true, versions };
  }

  async #tags(version: string): Promise<Pick<Deployed, "migrationTag" | "tag">> {
    const args = ["versions", "view", version, "--json", ...this.#of];
    const read = versionSchema.safeParse(readJson(mustSucceed(args, await this.#ask(args)).stdout));
    if (!read.success)
      throw new WranglerError(`wrangler versions view does not say which object migration version ${version} has`);
    const { annotations, resources } = read.data;
    return {
      migrationTag: resources.script_runtime.migration_tag ?? null,
      tag: annotations?.["workers/tag"] ?? null,
    };
  }

  /** Uploads a version without traffic; returns its id. */
  async upload(tag: string): Promise<string> {
    return versionIn(await this.#change(["versions", "upload", "--strict", "--tag", tag, ...this.#of]));
  }

  /**
   * Uploads and serves at once, and applies object migrations; returns the id of the version. Throws WranglerError also when
   * a later step of the command fails, after the version has got all traffic.
   *
   * @param secrets set with it; null: the Worker keeps its own
   */
  async deployWhole(tag: string, secrets: Readonly<Record<string, string>> | null): Promise<string> {
    const args = ["deploy", "--strict", "--tag", tag, ...(secrets === null ? [] : ["--secrets-file", STDIN])];
    const stdin = secrets === null ? {} : { stdin: JSON.stringify(secrets) };
    return versionIn(await this.#change([...args, ...this.#of], stdin));
  }

  /** Divides the traffic. The order of the versions decides which objects move, so the new one always comes first. */
  async share(versions: readonly { readonly id: string; readonly percentage: number }[]): Promise<void> {
    const shares = versions.map(({ id, percentage }) => `${id}@${percentage}%`);
    await this.#change(["versions", "deploy", ...shares, "--yes", ...this.#of]);
  }

  /** Applies routes and domains of wrangler.toml, which belong to no version. */
  async routes(): Promise<void> {
    await this.#change(["triggers", "deploy", ...this.#of]);
  }

  async #ask(args: readonly string[], interruptible = true): Promise<CommandResult> {
    return await this.#run(args, { ...this.#account, interruptible });
  }

  async #change(args: readonly string[], how: Pick<HowToRun, "stdin"> = {}): Promise<CommandResult> {
    return mustSucceed(args, await this.#run(args, { ...how, ...this.#account, interruptible: false }));
  }
}

function mustSucceed(args: readonly string[], result: CommandResult): CommandResult {
  if (result.exitCode !== 0) throw wranglerFailure(args.slice(0, 2), result);
  return result;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
