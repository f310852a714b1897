/** Invitations as engines keep them and as the hub sees them. */
import type { Invite } from './invite-port.ts'

export type StoredInvite = { hash: Uint8Array; made_ms: number; until_ms: number; used_by: string | null }

export const inviteOf = ({
  hash,
  made_ms: madeMs,
  until_ms: untilMs,
  used_by: usedBy,
}: StoredInvite): Invite => ({
  hash,
  madeMs,
  untilMs,
  usedBy: usedBy ?? undefined,
})
