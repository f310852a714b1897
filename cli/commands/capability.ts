/** `svc capability`: what the node serves itself, and trying it. */
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { printReply } from '../io.ts'
import { flags, json } from './values.ts'

export const ls: Run = async (io, input) => {
  printReply(io, await connect(io, input).call('capabilityList'))
  return 0
}

/** Exit code 1 when the effect is neither OK nor done without a way to check it. */
export const test: Run = async (io, input) => {
  const args = flags(input, '--args').length === 0 ? {} : { args: json(input, '--args') }
  const capability = input.positionals[0] as string
  const effect = await connect(io, input).call('capabilityTest', { capability, ...args })
  printReply(io, effect)
  return effect.status === 'OK' || effect.status === 'UNVERIFIED' ? 0 : 1
}
