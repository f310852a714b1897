/** Operations on the evidence chain: reading it, signing it off for strangers, and the heads that correspondents signed. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { ChainExport, exportLine } from '../../protocol/proof/chain-export.ts'
import { HeldHead, headIn } from '../../protocol/proof/held-head.ts'
import { CHAIN_FILE } from '../chain/chain.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import { heldHeads } from '../store/peers.ts'
import type { Handlers } from './handlers.ts'

type Needs = Pick<Context, 'dir' | 'identity' | 'store' | 'chain' | 'contacts' | 'now'>
type EvidenceOperations = Pick<Handlers, 'evidenceExport' | 'evidenceHeads'>

export function evidenceOperations(ctx: Needs): EvidenceOperations {
  return {
    async evidenceExport() {
      const { identity, chain } = ctx
      // the reader takes as many lines of the file as are signed here
      chain.drain()
      const [length, head] = chain.position
      const exported = ChainExport.sign(identity.seed, {
        v: 1,
        owner: identity.aid,
        kelSeq: identity.log.seq,
        length,
        head,
        ts: ctx.now(),
      })
      return {
        aid: identity.aid,
        length,
        head_id: cidText(head),
        chain_file: CHAIN_FILE,
        data_dir: ctx.dir,
        first_line: exportLine(exported, identity.log.events),
      }
    },
    async evidenceHeads({ peer }) {
      const aid = peer === undefined ? undefined : ctx.contacts.resolve(peer)
      if (peer !== undefined && aid === undefined) refuse('unknown_peer', `"${peer}" is not a contact`)
      const rows = heldHeads(ctx.store, aid)
      return {
        heads: rows.map(row => {
          const { length, id } = headIn(HeldHead.decode(row.head))
          const name = ctx.contacts.petnameOf(row.aid)
          return { peer: row.aid, peer_name: name, length, head_id: cidText(id), head: toBase64(row.head) }
        }),
      }
    },
  }
}
