/**
 * What the usage event's transform does to a chat stream that has not asked for the event.
 */
import { wholeDocument } from "../../../edge/domain/json/document.ts";
import { routeClassOf } from "../../../edge/domain/routing/route-class.ts";
import type { TransformPlan } from "../../../edge/domain/transform/transform.ts";
import { usageEvent } from "../../../edge/domain/transform/usage-event.ts";

export function usagePlan(): TransformPlan {
  const route = routeClassOf("/v1/chat/completions");
  const plan = usageEvent.plan({ route, stream: true, document: wholeDocument({}) });
  if (plan === null) throw new Error("a chat stream is asked for its usage event");
  return plan;
}
