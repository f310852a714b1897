/** Directory buckets and listings (hub API §4.2, §4.3). */

import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from '../../protocol/contract/limits.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { KeyStateNotice } from '../../protocol/identity/keyset.ts'
import type { Hub } from '../core/hub.ts'
import { afterAid, capsOf, cursorOf } from '../core/listing.ts'
import { Refusal } from '../core/refusal.ts'
import type { AgentRow } from '../store/port.ts'
import type { Part } from './handler.ts'

type Names = 'directoryBucket' | 'agents' | 'agent'
type Page = { limit?: string | undefined; cursor?: string | undefined }

export function directoryHandlers(hub: Hub): Part<Names> {
  const list = async (page: Page, filter: { caps?: string[] | undefined }) => {
    const { rows, next } = await hub.directory.list(afterAid(page.cursor), limitOf(page.limit), filter)
    const entries = rows.map(row => entryOf(hub, row))
    return next === undefined ? { agents: entries } : { agents: entries, next: cursorOf(next) }
  }
  return {
    async directoryBucket({ body, address }) {
      const afterH = body.cursor === undefined ? undefined : fromBase64url(body.cursor)
      const found = await hub.federation.bucket({ prefix: body.prefix, bits: body.bits, afterH }, address)
      return {
        max_bits: found.bitsMax,
        entries: found.entries.map(({ h, box }) => ({ h: toBase64url(h), box: toBase64url(box) })),
        ...present({ next: found.next === undefined ? undefined : toBase64url(found.next) }),
        ...present({ partial: found.partial || undefined }),
      }
    },
    agents: ({ query }) => list(query, { caps: capsOf(query.cap) }),
    async agent({ params }) {
      const agent = await hub.agents.findShown(params['aid'] ?? '')
      if (agent === undefined) throw new Refusal('unknownAgent')
      const { readme, visibility } = agent.row
      return { ...entryOf(hub, agent.row), readme, visibility }
    },
  }
}

/** One agent as the public sees it; times are coarse. */
export function entryOf(hub: Hub, row: AgentRow) {
  return {
    aid: row.aid,
    name: row.name,
    caps: row.caps,
    summary: row.summary,
    kel: toBase64url(row.kel),
    keys: row.keys === undefined ? null : toBase64url(row.keys),
    key_state_notice: toBase64url(KeyStateNotice.encode(hub.agents.noticeOf(row))),
    lastSeen: row.seenHourMs === 0 ? null : row.seenHourMs,
    registered_at: row.registeredDayMs,
    quiet: hub.agents.isQuiet({ row }),
  }
}

export function limitOf(text: string | undefined): number {
  const limit = text === undefined ? LIST_LIMIT_DEFAULT : Number(text)
  if (limit < 1 || limit > LIST_LIMIT_MAX)
    throw new Refusal('requestMalformed', { why: `limit must be a number from 1 to ${LIST_LIMIT_MAX}` })
  return limit
}
