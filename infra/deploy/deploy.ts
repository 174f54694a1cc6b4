/**
 * A deployment from check to verification (docs/platform.md#deploy). Nothing is uploaded while a check has a problem. It prints
 * what it did, and what serves when it ends.
 */
import { deriveInternalToken } from "../../shared/crypto/internal-token.ts";
import { type ConfigFacts, checkConfig } from "./check-config.ts";
import { checkPlatform } from "./check-platform.ts";
import type { DatabaseAddresses } from "./databases.ts";
import type { Finding } from "./finding.ts";
import { Interrupted } from "./interruption.ts";
import type { DeployOptions } from "./options.ts";
import { type DeployPlan, planOf } from "./plan.ts";
import type { ReachedStores } from "./reach.ts";
import { DeployFailure, type RolloutPorts, rollOut } from "./rollout.ts";
import { WranglerError } from "./wrangler-answer.ts";

/** The parts of a deployment. */
export interface Deployment extends Omit<ConfigFacts, "environment"> {
  readonly options: DeployOptions;
  /** The version of package.json, which tags the upload. */
  readonly release: string;
}

/** Checks, and deploys unless only checks were requested. Resolves with whether everything succeeded; prints what it does. */
export async function deploy(deployment: Deployment, ports: RolloutPorts): Promise<boolean> {
  const ownSecrets = await secretsOf(deployment);
  const plan = await checkAll(deployment, ownSecrets, ports).catch((error: unknown) => {
    if (!(error instanceof Interrupted)) throw error;
    ports.say("interrupted: nothing was uploaded");
    return null;
  });
  if (plan === null) return false;
  const { options, config, release } = deployment;
  ports.say(`plan: ${planText(plan, options)}`);
  if (options.onlyChecks) return true;
  const secrets = missingIn(deployment, ownSecrets);
  const rollout = { options, worker: config.worker, tag: `v${release}`, databases: addressesOf(deployment), secrets };
  try {
    await rollOut(plan, rollout, ports);
    return true;
  } catch (error) {
    if (error instanceof Interrupted) ports.say("interrupted");
    else if (error instanceof DeployFailure || error instanceof WranglerError) ports.say(`failed: ${error.message}`);
    else throw error;
    return false;
  }
}

/** Null: something is wrong, and was printed. */
async function checkAll(
  deployment: Deployment,
  ownSecrets: Readonly<Record<string, string>>,
  ports: RolloutPorts,
): Promise<DeployPlan | null> {
  const { options, config } = deployment;
  const own = { ...deployment.own, ...ownSecrets };
  const checked = checkConfig({ ...deployment, own, environment: options.environment });
  const stores = storesOf(deployment);
  const account = config.accountId ?? (own["CLOUDFLARE_ACCOUNT_ID"] || null);
  const databases = addressesOf(deployment);
  const asked = await checkPlatform({ options, config, account, ownSecrets, stores, databases }, ports);
  const findings = [...checked, ...asked.findings];
  for (const finding of findings) ports.say(lineOf(finding));
  const problems = findings.filter(({ problem }) => problem !== null).length;
  if (problems === 0 && asked.deployed !== null) return planOf(asked.deployed, config.migrationTags);
  ports.say(`${problems} ${problems === 1 ? "problem" : "problems"}: nothing was uploaded`);
  return null;
}

/** The secrets that the first upload takes along. */
function missingIn({ config }: Deployment, ownSecrets: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(ownSecrets).filter(([name]) => config.secrets.includes(name)));
}

/** The operator's values of the Worker's secrets; the internal token is derived as both planes derive it. */
async function secretsOf({ config, own }: Deployment): Promise<Readonly<Record<string, string>>> {
  const set = config.secrets.flatMap((name) => {
    const value = own[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  const secrets = Object.fromEntries(set);
  const adminToken = own["GATEWAY_ADMIN_TOKEN"] ?? "";
  if (config.secrets.includes("GATEWAY_INTERNAL_TOKEN") && adminToken !== "")
    secrets["GATEWAY_INTERNAL_TOKEN"] ??= await deriveInternalToken(adminToken);
  return secrets;
}

function storesOf({ config: { vars }, own, options }: Deployment): ReachedStores {
  return {
    redis: { url: vars["GATEWAY_REDIS_URL"] ?? "", token: own["GATEWAY_REDIS_TOKEN"] ?? "" },
    clickhouse: clickhouseOf(vars, own),
    controlUrl: vars["GATEWAY_INTERNAL_BASE_URL"] ?? "",
    adminUrl: options.adminUrl,
    adminToken: options.adminToken,
  };
}

function addressesOf({ config: { vars }, own }: Deployment): DatabaseAddresses {
  const db = vars["GATEWAY_CLICKHOUSE_DB"] ?? "gateway";
  return { databaseUrl: own["GATEWAY_DATABASE_URL"] ?? "", clickhouse: { ...clickhouseOf(vars, own), db } };
}

type Variables = Readonly<Record<string, string | undefined>>;

function clickhouseOf(vars: Variables, own: Variables): ReachedStores["clickhouse"] {
  return {
    url: vars["GATEWAY_CLICKHOUSE_URL"] ?? "",
    user: vars["GATEWAY_CLICKHOUSE_USER"] ?? "default",
    password: own["GATEWAY_CLICKHOUSE_PASSWORD"] ?? "",
  };
}

function lineOf({ what, problem, detail }: Finding): string {
  return problem === null ? `ok    ${what}: ${detail}` : `wrong ${what}: ${problem}`;
}

function planText(plan: DeployPlan, { percentage }: DeployOptions): string {
  if (plan.way === "whole") return `migrate the databases, deploy at once (${plan.reason}), verify`;
  if (plan.way === "untried")
    return `upload, migrate the databases, give it all traffic at once (${plan.reason}), verify`;
  return `upload, migrate the databases, verify without traffic, give it ${percentage}% of the traffic, verify`;
}
