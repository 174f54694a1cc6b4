import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { CapturedText } from "../../../shared/schema/capture.ts";
import { read } from "../../data/reads.ts";
import { giveReplay } from "../../data/replay.ts";
import { fieldsOf, textOf } from "../../data/untyped.ts";
import { commonText } from "../../messages/common.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/copy.tsx";
import { formatCount } from "../../ui/format.ts";
import { Failure } from "../../ui/states.tsx";
import classes from "./logs-page.module.css";

const text = texts("logs", logsTexts);
/** What the playground can send. */
const REPLAYED = /^\/v1\/(?:chat\/completions|messages)$/;

/** The bodies of a captured request. They are read on demand alone, because each read is in the audit log. */
export function CapturedRequest({ requestId, tenantId }: { readonly requestId: string; readonly tenantId: string }) {
  const [isWanted, setWanted] = useState(false);
  const { data, error, isFetching, refetch } = useQuery({
    ...read(
      "/api/v1/usage/logs/{request_id}/capture",
      { params: { path: { request_id: requestId } } },
      { enabled: isWanted, keepsOld: false },
    ),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (error !== null && error.status !== 404)
    return <Failure title={text("captureFailed")} error={error} onRetry={refetch} isRetrying={isFetching} />;
  if (error !== null) return <p className={classes["muted"]}>{text("captureNone")}</p>;
  if (data === undefined)
    return (
      <>
        <p className={classes["muted"]}>{text("captureHint")}</p>
        <Button isBusy={isFetching} onClick={() => setWanted(true)}>
          {text("captureShow")}
        </Button>
      </>
    );
  const { path, request, answer } = data;
  const body = parsed(request.text);
  const model = textOf(fieldsOf(body)["model"]) ?? undefined;
  return (
    <>
      <Body of={request} shown={body === null ? request.text : JSON.stringify(body, null, 2)} />
      <h4>{text("captureAnswer")}</h4>
      {answer === null ? (
        <p className={classes["muted"]}>{text("captureNoAnswer")}</p>
      ) : (
        <Body of={answer} shown={answer.text} />
      )}
      {body !== null && REPLAYED.test(path) && (
        <Link
          to="/playground"
          search={{ tenant_id: tenantId, ...(model === undefined ? {} : { model }) }}
          onClick={() => giveReplay({ path, text: request.text })}
        >
          {text("captureReplay")}
        </Link>
      )}
    </>
  );
}

function Body({ of: { bytes, cut }, shown }: { readonly of: CapturedText; readonly shown: string }) {
  return (
    <>
      {cut && <p className={classes["muted"]}>{text("captureCut", { bytes: formatCount(bytes) })}</p>}
      <Code text={shown} label={commonText("copy")} doneLabel={commonText("copied")} />
    </>
  );
}

/** Null: it is no JSON, as when it is cut. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
