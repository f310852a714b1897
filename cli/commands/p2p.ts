/** Direct delivery: the address at which this node is reached without its hub. */
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { printReply } from '../io.ts'

export const advertise: Run = async (io, input) => {
  const address = input.positionals[0]
  printReply(io, await connect(io, input).call('p2pAdvertise', present({ address })))
  return 0
}

export const serve: Run = async (io, input) => (await import('../run/p2p.ts')).servePeers(io, input)
