/**
 * Which way a version goes to the platform, and back. A version that brings an object migration, and the first one of a Worker,
 * can only be deployed to all at once: the platform applies migrations with `wrangler deploy` alone. The same holds for a
 * version whose messages the serving version does not understand, but then the serving version can get the traffic back. Pure.
 */
import { understandsMessages } from "./messages-since.ts";
import type { DeployOptions } from "./options.ts";
import type { Deployed } from "./wrangler.ts";

/** The way of a deployment. */
export type DeployPlan =
  /** At once: the platform allows nothing else. */
  | { readonly way: "whole"; readonly reason: string; readonly isFirst: boolean }
  /** Uploaded, and then given the traffic that `previous` has now. */
  | UploadPlan;

/** The way of a version that `previous` can take the traffic back from. */
export type UploadPlan =
  /** Tried without traffic before. */
  | { readonly way: "tried first"; readonly previous: string }
  /** Not tried before, and given all traffic: neither serves with objects of the other. */
  | { readonly way: "untried"; readonly reason: string; readonly previous: string };

/** Decides the way. `migrationTags`: those of wrangler.toml, the newest last. */
export function planOf(deployed: Deployed, migrationTags: readonly string[]): DeployPlan {
  const [previous] = servingIn(deployed);
  if (previous === undefined) return { way: "whole", reason: "it is the first deployment", isFirst: true };
  const newest = migrationTags.at(-1) ?? null;
  if (newest !== deployed.migrationTag)
    return { way: "whole", reason: `the object migration ${newest} is applied with it`, isFirst: false };
  if (understandsMessages(deployed.tag)) return { way: "tried first", previous: previous.id };
  const serving = deployed.tag === null ? "has no tag" : `is tagged ${deployed.tag}`;
  return {
    way: "untried",
    reason: `the version that serves ${serving}, and does not understand the messages of this one`,
    previous: previous.id,
  };
}

/** The versions that serve: a version without traffic is the rest of an unfinished trial. */
export function servingIn({ versions }: Deployed): Deployed["versions"] {
  return versions.filter(({ percentage }) => percentage > 0);
}

/** The versions with their parts, as a text. */
export function sharesOf(versions: Deployed["versions"]): string {
  return versions.map(({ id, percentage }) => `version ${id} ${percentage}%`).join(", ");
}

/** What {@link deployedProblem} compares the state of the platform with. */
interface Expected {
  readonly worker: string;
  readonly migrationTags: readonly string[];
  readonly options: Pick<DeployOptions, "environment" | "isFirst" | "percentage">;
}

/** Why nothing can be deployed over the platform's current state; null: it can. */
export function deployedProblem(deployed: Deployed, { worker, migrationTags, options }: Expected): string | null {
  const { exists, migrationTag } = deployed;
  const serving = servingIn(deployed);
  if (!exists && !options.isFirst)
    return `the account has no Worker ${worker}: if this is its first deployment, say so with --first; if not, sign in to the account that has it`;
  if (serving.length > 0 && options.isFirst)
    return `the account has a Worker ${worker} that serves: leave --first out, or choose another name if it is not yours`;
  const [one] = serving;
  if (one !== undefined && serving.length > 1)
    return `two versions share the traffic (${sharesOf(serving)}): give one of them all of it first, for example npx wrangler versions deploy ${one.id}@100% --env ${options.environment} --yes`;
  if (migrationTag !== null && !migrationTags.includes(migrationTag))
    return `the objects have the migration ${migrationTag}, which wrangler.toml of this checkout does not list: it is older than the deployed version, or the Worker is another one; deploy from a checkout that lists it`;
  const plan = planOf(deployed, migrationTags);
  if (plan.way === "whole" && options.percentage < 100)
    return `--gradual is not possible: ${plan.reason}, and the platform does that for all traffic at once`;
  if (plan.way === "untried" && options.percentage < 100)
    return `--gradual is not possible: ${plan.reason}, so the two cannot share the traffic`;
  return null;
}

/** How to take a deployment back, as a line for the operator. */
export function rollbackOf(plan: DeployPlan, environment: string): string {
  if (plan.way !== "whole") return `npx wrangler versions deploy ${plan.previous}@100% --env ${environment} --yes`;
  if (plan.isFirst) return `npx wrangler delete --env ${environment}`;
  return "none: the platform does not go back past an object migration; deploy a version that fixes the fault";
}
