import { api, type Records } from "../../data/api.ts";
import { useList } from "../../data/use-list.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { DeleteButton } from "../../forms/record/delete-button.tsx";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { Age } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { copySignInLink } from "./copy-sign-in-link.ts";
import { useTenantName } from "./tenant-of-user.tsx";
import { INVITATION_READS } from "./user-words.tsx";

const text = texts("users", usersTexts);
const EVERY_MS = 20_000;

type Invitation = Records["Invitation"];

/** Who is invited and has not signed in yet. An invitation is taken by its email, so the link is that of every sign-in. */
export function InvitationsTab() {
  const invitations = useList<Invitation>("/api/v1/invitations", {}, { everyMs: EVERY_MS });
  const view = useListView({ rows: invitations.data, columns: COLUMNS, prefix: "invitations_" });
  return (
    <ListTable
      state={invitations}
      view={view}
      label={text("invitations")}
      rowKey={({ id }) => id}
      onEnd={invitations.onEnd}
      empty={<Empty title={text("noInvitations")}>{text("noInvitationsText")}</Empty>}
    />
  );
}

const isOver = ({ expires_at }: Invitation): boolean => Date.parse(expires_at) <= serverNowMs();

const COLUMNS: readonly ListColumn<Invitation>[] = [
  {
    id: "email",
    head: text("email"),
    isWide: true,
    sortBy: ({ email }) => email,
    cell: ({ email }) => <bdi>{email}</bdi>,
  },
  { id: "role", head: text("role"), sortBy: ({ role }) => role, cell: ({ role }) => choiceLabel(role) },
  {
    id: "tenants",
    head: text("tenants"),
    isWide: true,
    cell: ({ tenant_ids }) => <TenantNames ids={tenant_ids} />,
  },
  {
    id: "expires",
    head: text("expires"),
    sortBy: ({ expires_at }) => expires_at,
    cell: (one) => (isOver(one) ? <Badge tone="warn">{text("expired")}</Badge> : <Age at={one.expires_at} />),
  },
  {
    id: "by",
    head: text("invitedBy"),
    isWide: true,
    sortBy: ({ invited_by }) => invited_by,
    cell: ({ invited_by }) => <bdi>{invited_by}</bdi>,
  },
  {
    id: "created",
    head: text("invitedAt"),
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Age at={created_at} />,
  },
  {
    id: "link",
    head: text("link"),
    cell: ({ email }) => (
      <Button tone="quiet" aria-label={text("copyLinkOf", { email })} onClick={() => void copySignInLink()}>
        {text("copyLink")}
      </Button>
    ),
  },
  { id: "actions", head: text("actions"), cell: (one) => <Revoke invitation={one} /> },
];

function TenantNames({ ids }: { readonly ids: readonly string[] }) {
  const [first, ...more] = ids;
  const name = useTenantName(first ?? null);
  if (first === undefined) return text("allTenants");
  return (
    <>
      <bdi>{name ?? first}</bdi>
      {more.length > 0 && ` ${text("moreTenants", { count: more.length })}`}
    </>
  );
}

function Revoke({ invitation: { id, email } }: { readonly invitation: Invitation }) {
  return (
    <DeleteButton
      label={text("revoke")}
      title={text("revokeOf", { email })}
      send={async () => await api.DELETE("/api/v1/invitations/{id}", { params: { path: { id } } })}
      touches={INVITATION_READS}
      done={text("revoked", { email })}
      failed={text("revokeFailed", { email })}
    >
      {text("revokeText")}
    </DeleteButton>
  );
}
