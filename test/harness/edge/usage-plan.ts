/**
 * What the usage event's transform does to a chat stream that has not asked for the event, and has these members.
 */

import { routeClassOf } from "../../../edge/domain/request/route-class.ts";
import type { TransformPlan } from "../../../edge/domain/upstream/transform.ts";
import { usageEvent } from "../../../edge/domain/upstream/usage-event.ts";
import { wholeDocument } from "../../../edge/domain/wire/json/document.ts";

export function usagePlan(member: (name: string) => unknown = () => undefined): TransformPlan {
  const route = routeClassOf("/v1/chat/completions");
  const plan = usageEvent.plan({ route, stream: true, document: wholeDocument({}), member });
  if (plan === null) throw new Error("a chat stream is asked for its usage event");
  return plan;
}
