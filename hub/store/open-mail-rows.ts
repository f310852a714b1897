/** Open mail as engines keep it and as the hub sees it. */
import type { GuestTaker, OpenKind, OpenMessage } from './open-mail-port.ts'

export type StoredMessage = {
  id: string
  sender: string
  kind: OpenKind
  interaction: string
  created_ms: number
  size: number
  file: string | null
}

export const messageOf = (head: StoredMessage): OpenMessage => ({
  id: head.id,
  from: head.sender,
  kind: head.kind,
  interaction: head.interaction,
  createdMs: head.created_ms,
  size: head.size,
  file: head.file ?? undefined,
})

export type StoredTaker = { aid: string; name: string; guest_quota: number; polled_ms: number | null }

/** Those of them whose mail somebody has asked for since. */
export const takersOf = (rows: readonly StoredTaker[], polledAfterMs: number): GuestTaker[] =>
  rows
    .filter(({ polled_ms }) => polled_ms === null || polled_ms >= polledAfterMs)
    .map(({ aid, name, guest_quota }) => ({ aid, name, guestQuota: guest_quota }))
