import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { createGroupGrantSchema } from "../../../shared/schema/group-grant.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { sessionQuery } from "../../data/session.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { type FieldSpec, fieldSpecs, valueSpec } from "../../forms/record/field-specs.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty, Notice } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.ts";
import { TenantOfUser, useTenantName } from "./tenant-of-user.tsx";
import { GRANT_READS } from "./user-words.tsx";

const text = texts("users", usersTexts);

type Grant = Records["GroupGrant"];

/** What groups of sign-in providers give to their people. */
export function GroupsTab() {
  const grants = useQuery(read("/api/v1/group-grants"));
  const session = useQuery(sessionQuery);
  const [isAdding, setAdding] = useState(false);
  const view = useListView<Grant>({ rows: grants.data, columns: COLUMNS, prefix: "groups_" });
  const providers = session.data?.groupProviders ?? [];
  const hasNoGroups = session.data !== undefined && providers.length === 0;
  const add = (
    <Button
      writes
      disabled={hasNoGroups}
      title={hasNoGroups ? text("noGroupsClaim") : undefined}
      icon={<Plus size={14} aria-hidden />}
      onClick={() => setAdding(true)}
    >
      {text("addGrant")}
    </Button>
  );
  return (
    <>
      <ListTable
        state={grants}
        view={view}
        title={text("grantsTitle")}
        label={text("groups")}
        note={text("groupsText")}
        actions={add}
        rowKey={({ id }) => id}
        empty={<Empty title={text("noGrants")}>{text(hasNoGroups ? "noGroupsClaim" : "noGrantsText")}</Empty>}
      />
      {isAdding && <AddGrant providers={providers} onClose={() => setAdding(false)} />}
    </>
  );
}

const COLUMNS: readonly ListColumn<Grant>[] = [
  {
    id: "group",
    head: text("group"),
    isWide: true,
    sortBy: ({ group_name }) => group_name,
    cell: ({ group_name }) => <bdi>{group_name}</bdi>,
  },
  {
    id: "provider",
    head: text("provider"),
    sortBy: ({ provider }) => provider,
    cell: ({ provider }) => <bdi>{provider}</bdi>,
  },
  { id: "role", head: text("role"), sortBy: ({ role }) => role, cell: ({ role }) => choiceLabel(role) },
  { id: "tenant", head: text("tenant"), isWide: true, cell: ({ tenant_id }) => <GrantTenant tenantId={tenant_id} /> },
  { id: "actions", head: text("actions"), cell: (grant) => <RemoveGrant grant={grant} /> },
];

function GrantTenant({ tenantId }: { readonly tenantId: string | null }) {
  const name = useTenantName(tenantId);
  return tenantId === null ? text("allTenants") : <bdi>{name ?? tenantId}</bdi>;
}

function RemoveGrant({ grant: { id, provider, group_name, role, tenant_id } }: { readonly grant: Grant }) {
  const remove = useAnnouncedWrite<"remove" | "restore">({
    send: async (what) =>
      what === "remove"
        ? await api.DELETE("/api/v1/group-grants/{id}", { params: { path: { id } } })
        : await api.POST("/api/v1/group-grants", { body: { provider, group_name, role, tenant_id } }),
    touches: GRANT_READS,
    done: () => text("grantRemoved", { group: group_name }),
    failed: () => text("grantFailed", { group: group_name }),
    inverse: () => ({ variables: "restore", done: text("grantAdded", { group: group_name }) }),
  });
  return (
    <Button
      writes
      tone="quiet"
      aria-label={text("removeGrantOf", { group: group_name })}
      isBusy={remove.isBusy}
      onClick={() => remove.run("remove")}
    >
      {text("removeGrant")}
    </Button>
  );
}

const textSpec = (name: string): FieldSpec => ({ name, kind: "text", isNullable: false, choices: [] });

function AddGrant({ providers, onClose }: { readonly providers: readonly string[]; readonly onClose: () => void }) {
  const queries = useQueryClient();
  const specs: readonly FieldSpec[] = [
    { name: "provider", kind: "choice", isNullable: false, choices: providers },
    textSpec("group_name"),
    ...fieldSpecs(["role"], USER_FIELDS),
    valueSpec("tenant_id"),
  ];
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("addGrantTitle")}>
      <CreateForm
        specs={specs}
        schema={createGroupGrantSchema}
        initial={{ provider: providers[0] ?? "", group_name: "", role: "user", tenant_id: null }}
        zone="UTC"
        submitLabel={text("addGrant")}
        controls={{
          tenant_id: ({ typed, onType, error }) => (
            <TenantOfUser tenantId={typeof typed === "string" ? typed : null} onChoose={onType} error={error} />
          ),
        }}
        note={({ role }) => role === "admin" && <Notice tone="warn">{text("warn_new_admin")}</Notice>}
        onSubmit={async (body, idempotencyKey) => {
          const made = answerValue(
            await api.POST("/api/v1/group-grants", { params: { header: { "idempotency-key": idempotencyKey } }, body }),
          );
          toast({ title: text("grantAdded", { group: made.group_name }), tone: "good" });
          for (const path of GRANT_READS) void queries.invalidateQueries({ queryKey: [path] });
          onClose();
        }}
      />
    </Dialog>
  );
}
