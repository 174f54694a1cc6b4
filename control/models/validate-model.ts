/**
 * Requests the catalog of an upstream, as a help before a model is registered: it changes nothing and never blocks a write
 * (docs/rules/models.md#validation). A blocked address is not called.
 */
import { GatewayError } from "../../shared/errors.ts";
import type { UpstreamAccess } from "../../shared/network/upstream-access.ts";
import { type ModelValidation, validateModelSchema } from "../../shared/schema/model.ts";
import type { VerbContext } from "../kernel/context.ts";
import { OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { catalogUrl, readCatalog } from "../kernel/outbound/model-catalog.ts";
import { parse } from "../kernel/parse.ts";
import { checkUpstreamAddress } from "../kernel/upstream-address.ts";

const TIMEOUT_MS = 5000;

/** What the catalog says. Throws 400 only for a malformed body. */
export async function validateModel(ctx: VerbContext, input: unknown): Promise<ModelValidation> {
  const { api_base, upstream_model, api_key, ...access } = parse(validateModelSchema, input);
  const unversioned = api_base.endsWith("/v1") ? [] : ["api_base does not end in /v1"];
  const refused = (warning: string): ModelValidation => ({
    reachable: false,
    listed: null,
    wildcard: false,
    warnings: [warning, ...unversioned],
  });
  if (await isBlocked(ctx, api_base)) return refused("api_base resolves to a blocked address");
  const catalog = await idsOf(ctx, api_base, access, api_key === "" ? null : (api_key ?? null));
  if ("reason" in catalog) return refused(`upstream is not reachable: ${catalog.reason}`);
  if ("status" in catalog)
    return { reachable: true, listed: null, wildcard: false, warnings: [statusText(catalog.status), ...unversioned] };
  const { ids } = catalog;
  const wildcard = ids?.some((id) => id.includes("*")) ?? false;
  const listed = ids === null || wildcard ? null : ids.includes(upstream_model);
  const warnings = [
    ...(wildcard ? ["upstream catalog contains a wildcard entry"] : []),
    ...(listed === false ? [`model '${upstream_model}' is not in the upstream catalog`] : []),
    ...unversioned,
  ];
  return { reachable: true, listed, wildcard, warnings };
}

async function isBlocked(ctx: VerbContext, apiBase: string): Promise<boolean> {
  try {
    await checkUpstreamAddress(ctx, "api_base", apiBase);
    return false;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "address_blocked") return true;
    throw error;
  }
}

/** What an answer without a catalog says. */
function statusText(status: number): string {
  if (status === 401 || status === 403) return `the upstream refuses the credential: http ${status}`;
  if (status === 404) return "the upstream has no catalog: http 404 on {api_base}/models";
  return `the upstream answers http ${status} on {api_base}/models`;
}

/** The ids in the catalog; null: it is no list of models. Or the status of a failure, or the reason why there is no answer. */
async function idsOf(
  { ssrf }: VerbContext,
  apiBase: string,
  access: UpstreamAccess,
  credential: string | null,
): Promise<{ readonly ids: readonly string[] | null } | { readonly status: number } | { readonly reason: string }> {
  try {
    return {
      ids: await readCatalog({ url: catalogUrl(apiBase), access, credential, timeoutMs: TIMEOUT_MS, policy: ssrf }),
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return error.status === null ? { reason: error.message } : { status: error.status };
  }
}
