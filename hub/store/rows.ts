/** Registry rows as engines keep them and as the hub sees them. */
import { shownLine, shownText } from '../../protocol/encoding/plain-text.ts'
import type { MailKind } from './open-mail-port.ts'
import type { Account, AgentRow, Visibility } from './port.ts'

export type StoredAgent = {
  number: number
  aid: string
  version: number
  registered: number | boolean
  name: string
  caps: string
  summary: string
  readme: string
  visibility: string
  kel: Uint8Array
  keys: Uint8Array | null
  keys_before: Uint8Array | null
  before_until_ms: number
  registered_day_ms: number
  probation_until_ms: number
  seen_hour_ms: number
  card: string | null
  mail: string
}

export type StoredAccount = {
  admitted: number | boolean
  blocked: number | boolean
  floor_ms: number
  envelopes_max: number | null
  bytes_max: number | null
  stranger_envelopes_max: number | null
  stranger_bytes_max: number | null
  stranger_per_minute: number | null
}

export function agentOf(stored: StoredAgent): AgentRow {
  return {
    number: stored.number,
    aid: stored.aid,
    version: stored.version,
    registered: Boolean(stored.registered),
    // A release before this one took any text; it is read as it may be shown.
    name: shownLine(stored.name),
    caps: JSON.parse(stored.caps) as string[],
    summary: shownLine(stored.summary),
    readme: shownText(stored.readme),
    visibility: stored.visibility as Visibility,
    kel: stored.kel,
    keys: stored.keys ?? undefined,
    keysBefore: stored.keys_before ?? undefined,
    keysBeforeUntilMs: stored.before_until_ms,
    registeredDayMs: stored.registered_day_ms,
    probationUntilMs: stored.probation_until_ms,
    seenHourMs: stored.seen_hour_ms,
    card: stored.card ?? undefined,
    mail: stored.mail as MailKind,
  }
}

export function accountOf(stored: StoredAccount | undefined): Account {
  if (stored === undefined) return { admitted: false, blocked: false, floorMs: 0, quota: {} }
  return {
    admitted: Boolean(stored.admitted),
    blocked: Boolean(stored.blocked),
    floorMs: stored.floor_ms,
    quota: {
      envelopesMax: stored.envelopes_max ?? undefined,
      bytesMax: stored.bytes_max ?? undefined,
      strangerEnvelopesMax: stored.stranger_envelopes_max ?? undefined,
      strangerBytesMax: stored.stranger_bytes_max ?? undefined,
      strangerPerMinute: stored.stranger_per_minute ?? undefined,
    },
  }
}
