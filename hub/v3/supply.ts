/** What a hub publishes of its supply over wire 3 (hub API §4.4, §6). */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import { ISSUANCE_LIMIT_MAX } from '../../protocol/wire3/routes/credits.ts'
import type { Hub } from '../core/hub.ts'
import { textReply } from '../http/reply.ts'
import type { Part } from './handler.ts'
import { limitOf } from './limit.ts'

type Names = 'supply' | 'issuance' | 'issuanceHead' | 'checkpoint'

const ISSUANCE_LIMIT_DEFAULT = 500

export function supplyHandlers(hub: Hub): Part<Names> {
  const { publication } = hub
  const { identity } = hub.context
  return {
    async supply() {
      const { seq, id, record, epoch } = await publication.newestEpoch()
      return {
        ...epoch,
        root: toBase64url(epoch.root),
        seq,
        id: cidText(id),
        record: toBase64url(record),
      }
    },
    async issuance({ query }) {
      const from = Number(query.from ?? 0)
      const limit = limitOf(query.limit, ISSUANCE_LIMIT_DEFAULT, ISSUANCE_LIMIT_MAX)
      const { entries, next } = await publication.records(from, limit)
      return {
        chain_did: chainDid(identity.aid),
        entries: entries.map(({ seq, id, previous, kind, atMs, change, record }) => ({
          seq,
          id: cidText(id),
          prev_id: cidText(previous),
          kind,
          at: atMs,
          ...change,
          record: toBase64url(record),
        })),
        head_seq: hub.supply.head.seq,
        head_id: cidText(hub.supply.head.id),
        ...present({ next: next === undefined ? undefined : String(next) }),
      }
    },
    async issuanceHead() {
      const { seq, id } = hub.supply.head
      return { chain_did: chainDid(identity.aid), seq, head_id: cidText(id) }
    },
    async checkpoint() {
      return textReply('text/plain; charset=utf-8', await hub.checkpoints.note())
    },
  }
}
