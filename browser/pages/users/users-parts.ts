/** The lists of people, in one file. */

export { InvitationsTab } from "./invitations-tab.tsx";
export { PeopleTab } from "./people-tab.tsx";
