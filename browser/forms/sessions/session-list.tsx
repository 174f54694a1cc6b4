/** The sessions of one person, each with a button that ends it (docs/rules/console.md#sessions). */
import { useQuery } from "@tanstack/react-query";
import { api, type Records } from "../../data/api.ts";
import { type ReadPath, read } from "../../data/reads.ts";
import { sessionsTexts } from "../../messages/en/sessions.ts";
import { texts } from "../../messages/texts.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Row } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { useAnnouncedWrite } from "../record/use-announced-write.ts";

const text = texts("sessions", sessionsTexts);
const EVERY_MS = 20_000;
const READS: readonly ReadPath[] = ["/api/v1/users/{id}/sessions", "/api/v1/audit"];

type Session = Records["UserSession"];

interface SessionListProps {
  readonly userId: string;
  /** The session in which this page is open; null: it is nobody's here. */
  readonly ownId: string | null;
}

export function SessionList({ userId, ownId }: SessionListProps) {
  const path = { id: userId };
  const isReadOnly = useReadOnly();
  // Everybody ends the own ones.
  const canEnd = ownId !== null || !isReadOnly;
  const sessions = useQuery(read("/api/v1/users/{id}/sessions", { params: { path } }, { everyMs: EVERY_MS }));
  const end = useAnnouncedWrite<string | null>({
    send: async (sessionId) =>
      sessionId === null
        ? await api.DELETE("/api/v1/users/{id}/sessions", {
            params: { path, query: ownId === null ? {} : { except: ownId } },
          })
        : await api.DELETE("/api/v1/users/{id}/sessions/{session_id}", {
            params: { path: { ...path, session_id: sessionId } },
          }),
    touches: READS,
    done: (sessionId) => text(sessionId === null ? "allEnded" : "ended"),
    failed: () => text("endFailed"),
  });
  return (
    <Loaded state={sessions}>
      {(rows) => (
        <>
          <Table
            label={text("sessions")}
            rows={rows}
            rowKey={({ id }: Session) => id}
            columns={[
              {
                id: "agent",
                head: text("agent"),
                isWide: true,
                cell: ({ agent }: Session) => (
                  <p>
                    <bdi>{agent === "" ? text("unknown") : agent}</bdi>
                  </p>
                ),
              },
              {
                id: "address",
                head: text("address"),
                cell: ({ address }: Session) => (address === "" ? text("unknown") : address),
              },
              { id: "since", head: text("since"), cell: ({ created_at }: Session) => <Age at={created_at} /> },
              { id: "seen", head: text("seen"), cell: ({ last_seen_at }: Session) => <Age at={last_seen_at} /> },
              {
                id: "end",
                head: text("end"),
                cell: ({ id, agent }: Session) =>
                  id === ownId ? (
                    <Badge>{text("own")}</Badge>
                  ) : !canEnd ? null : (
                    <Button
                      tone="quiet"
                      aria-label={text("endOf", { agent: agent === "" ? text("unknown") : agent })}
                      isBusy={end.isBusy}
                      onClick={() => end.run(id)}
                    >
                      {text("end")}
                    </Button>
                  ),
              },
            ]}
            empty={<Empty title={text("none")} />}
          />
          {canEnd && rows.some(({ id }) => id !== ownId) && (
            <Row isEnd>
              <Button tone="danger" isBusy={end.isBusy} onClick={() => end.run(null)}>
                {text(ownId === null ? "endAll" : "endOthers")}
              </Button>
            </Row>
          )}
        </>
      )}
    </Loaded>
  );
}
