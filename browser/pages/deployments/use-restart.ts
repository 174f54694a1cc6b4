import { api } from "../../data/api.ts";
import { type Answered, useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { DEPLOYMENT_READS } from "./deployment-reads.ts";

const text = texts("deployments", deploymentTexts);

/** Asks that the jobs of these replicas of a model end, so that others take their places. There is no way back. */
export function useRestart(name: string, onDone: () => void) {
  return useAnnouncedWrite<readonly string[]>({
    send: async (ids) => {
      const [first = "", ...others] = ids;
      let answered = await restartOne(first);
      for (const id of others) {
        if (!isDone(answered.response)) break;
        answered = await restartOne(id);
      }
      // gone meanwhile: nothing is left to be ended
      return isDone(answered.response) ? { response: new Response(null) } : answered;
    },
    touches: DEPLOYMENT_READS,
    done: (ids) => text("restarted", { count: ids.length, name }),
    failed: () => text("restartFailed", { name }),
    onDone,
  });
}

async function restartOne(id: string): Answered {
  return await api.POST("/api/v1/replicas/{id}/restart", { params: { path: { id } } });
}

function isDone({ ok, status }: Response): boolean {
  return ok || status === 404;
}
