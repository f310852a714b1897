/** `svc p2p-advertise` and `svc p2p`: the address at which this node is reached without its hub, and those of others. */
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { printReply } from '../io.ts'
import { names } from './values.ts'

export const advertise: Run = async (io, input) => {
  const address = input.positionals[0]
  printReply(io, await connect(io, input).call('p2pAdvertise', present({ address })))
  return 0
}

export const on: Run = async (io, input) => {
  const hosts = names(input, '--host')
  printReply(io, await connect(io, input).call('p2pSet', { send: true, ...present({ hosts }) }))
  return 0
}

export const off: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('p2pSet', { send: false }))
  return 0
}

export const status: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('p2pStatus'))
  return 0
}

export const serve: Run = async (io, input) => (await import('../run/p2p.ts')).servePeers(io, input)
