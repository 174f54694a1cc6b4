/**
 * The checks that call other systems: the platform, through wrangler, and the stores, from this machine. They change nothing; a
 * check that cannot run is a problem, never a success.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseAccount } from "./account.ts";
import { firstAddressProblem } from "./address.ts";
import type { DatabaseAddresses, Databases } from "./databases.ts";
import { type Finding, findingOf, fine, wrong } from "./finding.ts";
import type { DeployOptions } from "./options.ts";
import { deployedProblem, servingIn } from "./plan.ts";
import { type ReachedStores, type Request, reachStores, reasonOf } from "./reach.ts";
import type { WorkerConfig } from "./worker-config.ts";
import type { Deployed, Wrangler } from "./wrangler.ts";
import { WranglerError } from "./wrangler-answer.ts";

/** What the platform takes of a Worker of a paid plan (developers.cloudflare.com/workers/platform/limits, 2026-11). */
const UPLOAD_MAX_KIB = { plain: 64 * 1024, compressed: 10 * 1024 };

/** The findings of the checks, and the values that the deployment continues with. */
interface PlatformChecks {
  readonly findings: readonly Finding[];
  /** Null: it could not be read. */
  readonly deployed: Deployed | null;
}

/** The inputs of the checks. */
interface PlatformFacts {
  readonly options: DeployOptions;
  readonly config: WorkerConfig;
  /** The id of the account that is wanted; null: none is named. */
  readonly account: string | null;
  /** The operator's variables that can become secrets at the first upload. */
  readonly ownSecrets: Readonly<Record<string, string>>;
  readonly stores: ReachedStores;
  readonly databases: DatabaseAddresses;
}

/** Asks all of it. */
export async function checkPlatform(
  facts: PlatformFacts,
  ports: { readonly wrangler: Wrangler; readonly request: Request; readonly databases: Databases },
): Promise<PlatformChecks> {
  const { wrangler } = ports;
  const stores = reachStores(facts.stores, ports.request);
  const database = checkDatabase(facts, ports.databases);
  const account = await checkAccount(wrangler, facts.account);
  // Nothing else on the platform can be queried without a sign-in, or without an account.
  const signedIn = account.problem === null;
  const build = await attempt("bundle", async () => await checkBuild(wrangler));
  const deployed = signedIn ? await attempt("deployed now", async () => await wrangler.deployed()) : null;
  const now = deployed?.value ?? null;
  const secrets =
    now === null
      ? null
      : await attempt("secrets", async () => (now.exists ? await wrangler.secretNames() : Promise.resolve([])));
  return {
    deployed: now,
    findings: [
      account,
      build.value === null ? build.finding : build.value,
      ...(deployed === null ? [] : [now === null ? deployed.finding : deployedFinding(now, facts)]),
      ...(now === null ? [] : addressFindings(facts, now)),
      ...(secrets === null || now === null ? [] : secretFindings(facts, now, secrets)),
      ...(await stores),
      await database,
    ],
  };
}

async function attempt<T>(
  what: string,
  ask: () => Promise<T>,
): Promise<{ readonly finding: Finding; readonly value: T | null }> {
  try {
    return { finding: fine(what, ""), value: await ask() };
  } catch (error) {
    if (!(error instanceof WranglerError)) throw error;
    return { finding: wrong(what, error.message), value: null };
  }
}

/** Who is signed in; the account is in use from then on. */
async function checkAccount(wrangler: Wrangler, wanted: string | null): Promise<Finding> {
  const { finding, value } = await attempt("account", async () => await wrangler.whoami());
  if (value === null) return finding;
  const { account, problem } = chooseAccount(value.accounts, wanted);
  if (problem !== null) return wrong("account", problem);
  wrangler.use(account);
  return fine("account", `${value.who}, ${account.name} (${account.id})`);
}

async function checkBuild(wrangler: Wrangler): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-deploy-"));
  try {
    const { sizeKib, gzipKib } = await wrangler.build(folder);
    const size = `${Math.ceil(sizeKib)} KiB, ${Math.ceil(gzipKib)} compressed`;
    if (sizeKib > UPLOAD_MAX_KIB.plain || gzipKib > UPLOAD_MAX_KIB.compressed)
      return wrong(
        "bundle",
        `${size}: the platform takes ${UPLOAD_MAX_KIB.plain} KiB, ${UPLOAD_MAX_KIB.compressed} compressed`,
      );
    return fine("bundle", size);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function deployedFinding(deployed: Deployed, { config, options }: PlatformFacts): Finding {
  const problem = deployedProblem(deployed, { ...config, options });
  if (problem !== null) return wrong("deployed now", problem);
  return fine("deployed now", servingIn(deployed)[0]?.id ?? "nothing: this is the first deployment");
}

function addressFindings({ config, options }: PlatformFacts, { versions }: Deployed): readonly Finding[] {
  if (versions.length > 0) return [];
  const problem = firstAddressProblem(options.proxyUrl, config.worker, config.routes);
  return [problem === null ? fine("address", new URL(options.proxyUrl).hostname) : wrong("address", problem)];
}

function secretFindings(
  { options: { environment }, config, ownSecrets }: PlatformFacts,
  deployed: Deployed,
  { finding, value: names }: { readonly finding: Finding; readonly value: readonly string[] | null },
): readonly Finding[] {
  if (names === null) return [finding];
  const missing = config.secrets.filter((name) => !names.includes(name));
  const isFirst = deployed.versions.length === 0;
  const problems = missing
    .filter((name) => !isFirst || ownSecrets[name] === undefined)
    .map((name) =>
      isFirst
        ? `${name} is not in your variables, from which the first deployment takes it`
        : `${name} is not set: npx wrangler secret put ${name} --env ${environment}`,
    );
  const detail = missing.length === 0 ? `${config.secrets.length} set` : `${missing.length} come with the upload`;
  return findingOf("secrets", problems, detail);
}

async function checkDatabase({ databases: at }: PlatformFacts, databases: Databases): Promise<Finding> {
  if (at.databaseUrl === "")
    return wrong("database", "GATEWAY_DATABASE_URL is not set: its migrations are part of a deployment");
  if (!/^postgres(ql)?:\/\//.test(at.databaseUrl))
    return wrong(
      "database",
      "GATEWAY_DATABASE_URL is not the address of a PostgreSQL, which the control service needs",
    );
  try {
    const pending = await databases.pending(at);
    return fine("database", pending.length === 0 ? "up to date" : `to be applied: ${pending.join(", ")}`);
  } catch (error) {
    // A message of ours; a driver's text can contain the address.
    const own = error instanceof Error && error.message.startsWith("migration ") ? error.message : reasonOf(error);
    return wrong("database", `GATEWAY_DATABASE_URL: ${own}`);
  }
}
