/** Which parts of the console lead to something that is configured; the navigation leaves out the others. */
import { setTimeout as pause } from "node:timers/promises";

const PLACE = "http://management.invalid/api/v1";
/** Every page of an admin waits for the answer. */
const WITHIN_MS = 2000;

interface Management {
  readonly adminToken: string;
  readonly management: (request: Request) => Promise<Response>;
}

/**
 * True when a job scheduler is set, or a model has a spec to be run on one. True as well when nobody knows, or not soon: an entry
 * too many harms less than one that is missing.
 */
export async function hasDeployments(api: Management): Promise<boolean> {
  const late = new AbortController();
  try {
    return await Promise.race([isConfigured(api), pause(WITHIN_MS, true, { signal: late.signal })]);
  } catch {
    return true;
  } finally {
    late.abort();
  }
}

async function isConfigured({ adminToken, management }: Management): Promise<boolean> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const read = async (path: string): Promise<unknown> =>
    await (await management(new Request(`${PLACE}${path}`, { headers }))).json();
  const [scheduler, specs] = await Promise.all([read("/settings/jobsched"), read("/managed?limit=1")]);
  const { url } = scheduler as { readonly url?: unknown };
  return url !== "" || !Array.isArray(specs) || specs.length > 0;
}
