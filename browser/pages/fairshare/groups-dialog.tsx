/** Fairshare groups are made, renamed and deleted here (docs/rules/fairshare.md#groups). */
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, type Records } from "../../data/api.ts";
import type { ApiError } from "../../data/api-error.ts";
import { type ReadPath, read } from "../../data/reads.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { commonText } from "../../messages/common.ts";
import { groupsTexts } from "../../messages/en/fairshare-groups.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Row, Stack } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { useUnsaved } from "../../ui/unsaved.tsx";

const text = texts("fairshare-groups", groupsTexts);
const READS: readonly ReadPath[] = ["/api/v1/fairshare/groups", "/api/v1/tenants", "/api/v1/audit"];
/** Always there, under this name. */
const DEFAULT = "default";
/** The weight of a new group; the page of weights changes it. */
const WEIGHT = 100;

type Group = Records["FairshareGroup"];

export function GroupsDialog({ onClose }: { readonly onClose: () => void }) {
  const groups = useQuery(read("/api/v1/fairshare/groups", { params: { query: { limit: "1000" } } }));
  const [renamed, setRenamed] = useState<string | null>(null);
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("title")}>
      <Stack>
        <p>{text("about", { weight: WEIGHT })}</p>
        <Loaded state={groups}>
          {(rows) => (
            <Table
              label={text("title")}
              rows={rows}
              rowKey={({ name }: Group) => name}
              columns={[
                {
                  id: "name",
                  head: text("name"),
                  isWide: true,
                  cell: ({ name }: Group) =>
                    renamed === name ? <RenameGroup name={name} onDone={() => setRenamed(null)} /> : <bdi>{name}</bdi>,
                },
                { id: "weight", head: text("weight"), align: "right", cell: ({ weight }: Group) => weight },
                {
                  id: "actions",
                  head: text("actions"),
                  cell: ({ name }: Group) =>
                    name === DEFAULT || renamed === name ? null : (
                      <Row>
                        <Button
                          writes
                          tone="quiet"
                          aria-label={text("renameOf", { name })}
                          onClick={() => setRenamed(name)}
                        >
                          {text("rename")}
                        </Button>
                        <DeleteGroup name={name} />
                      </Row>
                    ),
                },
              ]}
            />
          )}
        </Loaded>
        <CreateGroup />
      </Stack>
    </Dialog>
  );
}

function DeleteGroup({ name }: { readonly name: string }) {
  const remove = useAnnouncedWrite<null>({
    send: async () => await api.DELETE("/api/v1/fairshare/groups/{name}", { params: { path: { name } } }),
    touches: READS,
    done: () => text("deleted", { name }),
    failed: () => text("deleteFailed", { name }),
  });
  return (
    <Button
      writes
      tone="quiet"
      aria-label={text("deleteOf", { name })}
      isBusy={remove.isBusy}
      onClick={() => remove.run(null)}
    >
      {commonText("delete")}
    </Button>
  );
}

function RenameGroup({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const [typed, setTyped] = useState(name);
  const [error, setError] = useState<ApiError | null>(null);
  useUnsaved(typed !== name);
  const rename = useAnnouncedWrite<{ readonly from: string; readonly to: string }>({
    send: async ({ from, to }) =>
      await api.PATCH("/api/v1/fairshare/groups/{name}", { params: { path: { name: from } }, body: { name: to } }),
    touches: READS,
    done: ({ from, to }) => text("renamed", { from, to }),
    failed: ({ from }) => text("renameFailed", { name: from }),
    onFailed: setError,
    onDone,
    inverse: ({ from, to }) => ({ variables: { from: to, to: from }, done: text("renamed", { from: to, to: from }) }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (typed.trim() === name) onDone();
    else rename.run({ from: name, to: typed.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Row>
        <TextField
          label={text("newName", { name })}
          isLabelHidden
          value={typed}
          error={error?.message}
          onChange={({ target }) => {
            setTyped(target.value);
            setError(null);
          }}
        />
        <Button type="submit" isBusy={rename.isBusy}>
          {text("rename")}
        </Button>
        <Button tone="quiet" onClick={onDone}>
          {commonText("cancel")}
        </Button>
      </Row>
    </form>
  );
}

function CreateGroup() {
  const [name, setName] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  useUnsaved(name !== "");
  const create = useAnnouncedWrite<string>({
    send: async (given) => await api.POST("/api/v1/fairshare/groups", { body: { name: given, weight: WEIGHT } }),
    touches: READS,
    done: (given) => text("created", { name: given }),
    failed: (given) => text("createFailed", { name: given }),
    onFailed: setError,
    onDone: () => setName(""),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create.run(name.trim());
      }}
    >
      <Row>
        <TextField
          label={text("newGroup")}
          value={name}
          error={error?.message}
          onChange={({ target }) => {
            setName(target.value);
            setError(null);
          }}
        />
        <Button writes type="submit" tone="primary" disabled={name.trim() === ""} isBusy={create.isBusy}>
          {text("create")}
        </Button>
      </Row>
    </form>
  );
}
