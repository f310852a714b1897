/** For tests: a witness of a hub's supply chain, and what it says, right or wrong. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { chainDid, GENESIS } from '../../protocol/proof/evidence.ts'
import { type WitnessBody, WitnessStatement } from '../../protocol/proof/witness.ts'
import { callRoute, type Reply, TestAgent, type TestHub } from './hub.ts'

/** Somebody whom the operator of a hub named as a witness. */
export async function namedWitness(hub: TestHub, url?: string): Promise<TestAgent> {
  const witness = new TestAgent(hub)
  await hub.running.order({ command: 'witness', add: witness.aid, ...(url !== undefined && { url }) })
  return witness
}

/** A statement of a right form about the chain of its target, as it is sent. */
export function statementOf(witness: TestAgent, change: Partial<WitnessBody> = {}, seed = witness.seed) {
  const statement = WitnessStatement.sign(seed, {
    v: 1,
    chainDid: chainDid(witness.target.aid),
    seq: 0,
    headId: GENESIS,
    observedAt: witness.target.clock.now(),
    witness: witness.aid,
    witnessKelSeq: witness.log.seq,
    ...change,
  })
  return { attestation: toBase64url(WitnessStatement.encode(statement)), kel: witness.kel }
}

type Change = [change?: Partial<WitnessBody>, seed?: Uint8Array]

/** One about the newest record of a hub, unless told otherwise. */
export function statementAt(hub: TestHub, witness: TestAgent, ...[change, seed]: Change) {
  const { seq, id: headId } = hub.running.hub.supply.head
  return statementOf(witness, { seq, headId, ...change }, seed)
}

export const sendStatement = (hub: TestHub, witness: TestAgent, ...change: Change): Promise<Reply> =>
  callRoute(hub, 'witness', statementAt(hub, witness, ...change))
