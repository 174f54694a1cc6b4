import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { changedSearch } from "../../data/search-params.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { USER_TABS } from "./users-search.ts";

const text = texts("users", usersTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/users");
const PeopleTab = lazy(async () => ({ default: (await import("./users-parts.ts")).PeopleTab }));
const InvitationsTab = lazy(async () => ({ default: (await import("./users-parts.ts")).InvitationsTab }));
const GroupsTab = lazy(async () => ({ default: (await import("./groups-tab.tsx")).GroupsTab }));
const InviteDialog = lazy(async () => ({ default: (await import("./invite-dialog.tsx")).InviteDialog }));

/** Who can sign in: people who have, those who are invited, and what groups of providers give. */
export function UsersPage() {
  const { tab = "people" } = route.useSearch();
  const navigate = useNavigate({ from: "/users" });
  const [isInviting, setInviting] = useState(false);
  const show = (id: string, userId?: string): void =>
    void navigate({
      search: (before) => changedSearch(before, { tab: USER_TABS.find((one) => one === id), user_id: userId }),
    });
  return (
    <Stack>
      <PageHead
        title={pageText("users")}
        question={pageText("usersQuestion")}
        actions={
          <Button writes tone="primary" icon={<UserPlus size={14} aria-hidden />} onClick={() => setInviting(true)}>
            {text("invite")}
          </Button>
        }
      />
      <Tabs
        label={text("parts")}
        chosen={tab}
        onChoose={(id) => show(id)}
        tabs={[
          {
            id: "people",
            label: text("people"),
            content: (
              <Suspense fallback={null}>
                <PeopleTab />
              </Suspense>
            ),
          },
          {
            id: "invitations",
            label: text("invitations"),
            content: (
              <Suspense fallback={null}>
                <InvitationsTab />
              </Suspense>
            ),
          },
          {
            id: "groups",
            label: text("groups"),
            content: (
              <Suspense fallback={null}>
                <GroupsTab />
              </Suspense>
            ),
          },
        ]}
      />
      <Suspense fallback={null}>
        {isInviting && (
          <InviteDialog
            onClose={() => setInviting(false)}
            onInvited={() => {
              setInviting(false);
              show("invitations");
            }}
            onKnown={(id) => {
              setInviting(false);
              show("people", id);
            }}
          />
        )}
      </Suspense>
    </Stack>
  );
}
