/** Operations on the evidence chain: reading it, signing it off for strangers, and the heads that correspondents signed. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { ChainExport, exportLine } from '../../protocol/proof/chain-export.ts'
import { HeldHead, headIn } from '../../protocol/proof/held-head.ts'
import { CHAIN_FILE, type Chain } from '../chain/chain.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { heldHeads } from '../store/peers.ts'
import type { Handlers } from './handlers.ts'

const LIMIT_DEFAULT = 50

type ChainParts = { dir: string; identity: Identity; chain: Chain; now: () => number }

export function chainOperations({
  dir,
  identity,
  chain,
  now,
}: ChainParts): Pick<Handlers, 'evidence' | 'evidenceExport'> {
  return {
    async evidence({ limit = LIMIT_DEFAULT, ...given }) {
      const { event_type: eventType, since, before, interaction_id: interactionId } = given
      const records = chain.read({ eventType, since, before, interactionId, limit })
      return { head: chain.head(), records: records as never }
    },
    async evidenceExport() {
      // the reader takes as many lines of the file as are signed here
      chain.drain()
      const [length, head] = chain.position
      const exported = ChainExport.sign(identity.seed, {
        v: 1,
        owner: identity.aid,
        kelSeq: identity.log.seq,
        length,
        head,
        ts: now(),
      })
      return {
        aid: identity.aid,
        length,
        head_id: cidText(head),
        chain_file: CHAIN_FILE,
        data_dir: dir,
        first_line: exportLine(exported, identity.log.events),
      }
    },
  }
}

export function headOperations(store: Store, contacts: Contacts): Pick<Handlers, 'evidenceHeads'> {
  return {
    async evidenceHeads({ peer }) {
      const aid = peer === undefined ? undefined : contacts.resolve(peer)
      if (peer !== undefined && aid === undefined) refuse('unknown_peer', `"${peer}" is not a contact`)
      const rows = heldHeads(store, aid)
      return {
        heads: rows.map(row => {
          const { length, id } = headIn(HeldHead.decode(row.head))
          const name = contacts.petnameOf(row.aid)
          return { peer: row.aid, peer_name: name, length, head_id: cidText(id), head: toBase64(row.head) }
        }),
      }
    },
  }
}
