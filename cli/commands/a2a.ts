/** `svc a2a`: the interface by which programs of this machine reach agents over A2A. */
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { printReply } from '../io.ts'
import { flag, names } from './values.ts'

export const a2aOn: Run = async (io, input) => {
  const reply = await connect(io, input).call('a2aSet', {
    on: true,
    ...flag(input, '--addr', 'addr'),
    ...present({ hosts: names(input, '--host'), push_hosts: names(input, '--push-host') }),
  })
  printReply(io, reply)
  return 0
}

export const a2aOff: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('a2aSet', { on: false }))
  return 0
}

export const a2aStatus: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('a2a'))
  return 0
}

/** Prints the token, and nothing else on standard output. */
export const a2aToken: Run = async (io, input) => {
  const { token, dropped_pushes } = await connect(io, input).call('a2aToken', {
    ...present({ renew: input.flags.has('--new') || undefined }),
  })
  io.out(`${token}\n`)
  if (dropped_pushes !== undefined)
    io.err(`svc: ${dropped_pushes} push configurations of the previous token were removed; set them anew\n`)
  return 0
}
