/**
 * `/v1/files` and `/v1/batches`: the control service answers them for the caller, whose key was checked here
 * (docs/rules/batches.md#routes). They need no slot, cost nothing and write no row. Bodies are never held.
 */
import { GatewayError } from "../../shared/errors.ts";
import { authenticateNow } from "./authenticate/authenticate-now.ts";
import { logEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";

/** The control service, which keeps the files and runs the batches. */
interface FileService {
  /** Rejects when there is no answer. */
  forward(
    target: string,
    request: Request,
    caller: { readonly tenantId: string; readonly keyId: string },
  ): Promise<Response>;
}

const PASSED_ON = ["content-type", "content-length", "content-disposition"];

/** Answers with what the control service says. */
export async function runFiles(received: PipelineInput, control: FileService): Promise<Response> {
  const { response } = await answer(received, async (call, known) => {
    const caller = await authenticateNow(call, known);
    const { key, tenant } = caller.principal;
    const from = { tenantId: tenant.id, keyId: key.key_id };
    const answered = await control.forward(`${call.path}${call.search}`, call.request, from).catch((cause: unknown) => {
      throw new GatewayError("files_unavailable", { cause });
    });
    if (answered.status >= 500) {
      await answered.body?.cancel();
      throw new GatewayError("files_unavailable", { cause: `the control service answered ${answered.status}` });
    }
    const headers = new Headers(gatewayHeaders(call, caller));
    for (const name of PASSED_ON) {
      const value = answered.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    logEnd(call, caller, usageRowOf(call, caller, { statusCode: answered.status, admission: "fast" }));
    return { response: new Response(answered.body, { status: answered.status, headers }), known: caller };
  });
  return response;
}
