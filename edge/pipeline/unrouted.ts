/**
 * Requests that no model serves: the registry listing, and paths that nobody knows. Both authenticate first (decisions
 * §17.1); neither writes a row when it succeeds, and `unknown endpoint` writes none at all (decisions §23.4).
 */
import { GatewayError } from "../../shared/errors.ts";
import { authenticateNow } from "./authenticate-now.ts";
import { readLevel } from "./rate-limit.ts";
import { type Received, receive } from "./receive.ts";
import { refuse } from "./refuse.ts";
import { checkPath } from "./resolve-model.ts";
import { gatewayHeaders } from "./response-headers.ts";

/** `GET /v1/models`: every registered model, by id (decisions §17.4). */
export async function listModels(received: Received): Promise<Response> {
  const call = receive(received);
  try {
    await authenticateNow(call);
    const [models] = await Promise.all([call.ports.directory.models(), readLevel(call)]);
    const data = models.map((model) => ({
      id: model.model_name,
      object: "model",
      created: Math.floor(model.created_at_ms / 1000),
      owned_by: "gateway",
      model_type: model.model_type,
      enabled: model.enabled,
    }));
    return Response.json({ object: "list", data }, { headers: gatewayHeaders(call) });
  } catch (error) {
    return await refuse(call, error);
  }
}

/** Any path that is not served: 401 and 403 come first, then 404 without a row. */
export async function unknownEndpoint(received: Received): Promise<Response> {
  const call = receive(received);
  try {
    await authenticateNow(call);
    checkPath(call);
  } catch (error) {
    return await refuse(call, error);
  }
  await readLevel(call);
  const error = new GatewayError("unknown_endpoint");
  return Response.json(error.body, { status: error.status, headers: { ...gatewayHeaders(call), ...error.headers } });
}
