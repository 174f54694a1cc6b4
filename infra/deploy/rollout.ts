/**
 * The steps of a deployment that change something (docs/platform.md#deploy). A version that can be tried first is verified
 * before it has any traffic and again when it has it; when a verification fails or is interrupted, the traffic goes back to the
 * version that had it, unless the platform cannot go back. In every case it prints what serves afterwards.
 */
import type { DatabaseAddresses, Databases } from "./databases.ts";
import type { DeployOptions } from "./options.ts";
import { type DeployPlan, rollbackOf, sharesOf, type UploadPlan } from "./plan.ts";
import { reasonOf } from "./reach.ts";
import { type VerifyOptions, type VerifyPorts, verify } from "./verify.ts";
import type { Wrangler } from "./wrangler.ts";
import { WranglerError } from "./wrangler-answer.ts";

/** The outside world of a deployment. */
export interface RolloutPorts extends VerifyPorts {
  readonly wrangler: Wrangler;
  readonly databases: Databases;
}

/** The contents of a rollout. */
interface Rollout {
  readonly options: DeployOptions;
  /** The name of the Worker on the platform. */
  readonly worker: string;
  /** Marks the version. */
  readonly tag: string;
  readonly databases: DatabaseAddresses;
  /** The secrets that the first upload takes along. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** A step failed; earlier changes have been reported or reverted. */
export class DeployFailure extends Error {
  override readonly name = "DeployFailure";
}

/** Carries a plan out. Throws DeployFailure, WranglerError, and the reason of an interrupt. */
export async function rollOut(plan: DeployPlan, rollout: Rollout, ports: RolloutPorts): Promise<void> {
  if (plan.way === "whole") await deployWhole(plan, rollout, ports);
  else await deployUpload(plan, rollout, ports);
}

async function deployWhole(
  plan: DeployPlan & { readonly way: "whole" },
  rollout: Rollout,
  ports: RolloutPorts,
): Promise<void> {
  const { options, tag, secrets } = rollout;
  const { wrangler, say } = ports;
  stopHere(ports);
  await migrateDatabases(rollout, ports);
  stopHere(ports);
  const own = plan.isFirst && Object.keys(secrets).length > 0 ? secrets : null;
  let id: string;
  try {
    id = await wrangler.deployWhole(tag, own);
  } catch (error) {
    await sayWhatServes(plan, options, ports);
    throw error;
  }
  say(`deployed: version ${id} has all traffic, and is not verified yet`);
  const back = `to go back: ${rollbackOf(plan, options.environment)}`;
  say(back);
  try {
    await mustVerify(rollout, { id, byName: false, untried: true }, ports);
  } catch (error) {
    say(`NOT verified: version ${id} keeps all traffic; ${back}`);
    throw error;
  }
}

/** At an interrupt before anything has traffic. */
function stopHere({ interrupted, say }: RolloutPorts): void {
  if (interrupted.aborted) say("the traffic was not moved");
  interrupted.throwIfAborted();
}

/** After a command that may have failed before or after it moved the traffic. */
async function sayWhatServes(plan: DeployPlan, { environment }: DeployOptions, { wrangler, say }: RolloutPorts) {
  try {
    const { versions } = await wrangler.traffic(false);
    const shares = sharesOf(versions);
    say(shares === "" ? "nothing serves: the Worker has no deployment" : `serves now: ${shares}`);
    if (shares !== "") say(`to go back: ${rollbackOf(plan, environment)}`);
  } catch (error) {
    if (!(error instanceof WranglerError)) throw error;
    say(`it is not known what serves: see npx wrangler deployments status --env ${environment}`);
  }
}

async function deployUpload(plan: UploadPlan, rollout: Rollout, ports: RolloutPorts): Promise<void> {
  const { options, tag } = rollout;
  const { wrangler, say, interrupted } = ports;
  const { previous, way } = plan;
  stopHere(ports);
  const id = await wrangler.upload(tag);
  say(`uploaded: version ${id}, which has no traffic yet`);
  stopHere(ports);
  await migrateDatabases(rollout, ports);
  stopHere(ports);
  const share = async (percentage: number): Promise<void> => {
    const others = percentage === 100 ? [] : [{ id: previous, percentage: 100 - percentage }];
    await wrangler.share([{ id, percentage }, ...others]);
    say(`traffic: ${percentage}% to version ${id}`);
    interrupted.throwIfAborted();
  };
  try {
    if (way === "tried first") {
      await share(0);
      await mustVerify(rollout, { id, byName: true, untried: false }, ports);
    }
    await share(options.percentage);
    if (options.percentage === 100) await wrangler.routes();
    await mustVerify(rollout, { id, byName: options.percentage < 100, untried: way === "untried" }, ports);
  } catch (error) {
    await takeBack(id, plan, options, ports);
    throw error;
  }
  say(`to go back: ${rollbackOf(plan, options.environment)}`);
  if (options.percentage < 100)
    say(`to continue: npx wrangler versions deploy ${id}@100% --env ${options.environment} --yes`);
}

/** Returns the traffic, unless it no longer goes to this deployment. */
async function takeBack(id: string, plan: UploadPlan, options: DeployOptions, ports: RolloutPorts): Promise<void> {
  const { wrangler, say } = ports;
  try {
    const { versions } = await wrangler.traffic(false);
    if (!versions.some((version) => version.id === id)) {
      say(`nothing to roll back: ${sharesOf(versions)}, by another deployment or as before`);
      return;
    }
    await wrangler.share([{ id: plan.previous, percentage: 100 }]);
    say(`rolled back: version ${plan.previous} has all traffic again; databases stay migrated`);
  } catch (error) {
    if (!(error instanceof WranglerError)) throw error;
    say(`NOT rolled back: ${error.message}`);
    await sayWhatServes(plan, options, ports);
  }
}

async function migrateDatabases({ databases: at }: Rollout, { databases, say }: RolloutPorts): Promise<void> {
  try {
    const applied = await databases.migrate(at);
    say(`databases: ${applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`}`);
  } catch (error) {
    const own = error instanceof Error && error.message.startsWith("migration ") ? error.message : reasonOf(error);
    throw new DeployFailure(`the databases could not be migrated (${own}); the traffic was not moved`);
  }
}

async function mustVerify(
  { options, worker }: Rollout,
  { id, ...how }: { readonly id: string } & Pick<VerifyOptions, "byName" | "untried">,
  ports: RolloutPorts,
): Promise<void> {
  ports.interrupted.throwIfAborted();
  const verified = await verify({ ...options, version: { worker, id }, ...how }, ports);
  if (!verified.ok) throw new DeployFailure(verified.problem);
  ports.say(`verified: request ${verified.requestId} by version ${id}, ${verified.tokens} tokens in its usage row`);
}
