/** `svc p2p serve`: takes mail at an address and hands it to the running node; ends with it. */
import { module as serving } from '#p2p-server'
import { addressOf } from '../../daemon/home/config.ts'
import { faultPoint } from '../../daemon/platform/faults.ts'
import type { DirectRefusal } from '../../protocol/contract/direct.ts'
import { a2aAddress } from '../../protocol/control/a2a.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { streamEvents } from '../client/events.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, notice, printReply, sayOnTerminal, UsageRefused } from '../io.ts'
import { Session } from './session.ts'

const LISTEN_DEFAULT = '127.0.0.1:4001'
const HELP = 'svc help p2p serve'

type Serving = NonNullable<typeof serving>
type Hands = ConstructorParameters<Serving['DirectServer']>[0]

export async function servePeers(io: Io, input: Input): Promise<number> {
  if (serving === undefined)
    throw new CommandFailed('this build has no direct-connection support', 'svc version')
  const [host, port] = listenAddress(input)
  const session = new Session(io, input)
  const { target } = await session.connect(io)
  const quiet = Object.create(io, { err: { value: () => {} } }) as Io
  const server = new serving.DirectServer(
    handsOf(serving, () => session.connect(quiet)),
    systemTimers,
  )
  const address = await server.listen(host, port).catch(error => cannotListen(error, `${host}:${port}`))
  try {
    printReply(io, { state: 'listening', address })
    sayOnTerminal(io, 'mail is taken until Ctrl-C or the end of the node')
    return await untilEnd(io, target)
  } finally {
    await server.close()
  }
}

/** What came is handed to the node that runs now. */
function handsOf({ LetterRefused }: Serving, connect: () => ReturnType<Session['connect']>): Hands {
  type Answer = { confirmation?: string | undefined; refused?: DirectRefusal | undefined }
  const confirmed = ({ confirmation, refused }: Answer): string => {
    faultPoint('serve.direct.before-answer')
    if (confirmation === undefined) throw new LetterRefused(refused ?? 'not_now')
    return confirmation
  }
  return {
    async letter(letter, signal) {
      const control = await connect()
      faultPoint('serve.direct.before-take')
      return confirmed(await control.call('p2pTake', letter, {}, { signal }))
    },
    async admit(head, size, signal) {
      const control = await connect()
      const { refused } = await control.call('p2pAdmit', { head: toBase64(head), size }, {}, { signal })
      if (refused !== undefined) throw new LetterRefused(refused)
    },
    async envelope(envelope, signal) {
      const control = await connect()
      faultPoint('serve.direct.before-take')
      return confirmed(
        await control.call('p2pTakeEnvelope', { envelope: toBase64(envelope) }, {}, { signal }),
      )
    },
  }
}

/** Until a signal, or until the node ends. */
async function untilEnd(io: Io, target: Parameters<typeof streamEvents>[1]): Promise<number> {
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort())
  await streamEvents(io, target, { signal: stopped.signal }, () => undefined)
  if (!stopped.signal.aborted) notice(io, 'the node has ended, so mail is taken here no more')
  return 0
}

function listenAddress(input: Input): [host: string, port: number] {
  const given = input.flags.get('--listen')?.[0] ?? LISTEN_DEFAULT
  const [host, port] = addressOf(given)
  if (!a2aAddress.safeParse(given).success || Number(port) > 65_535)
    throw new UsageRefused('expected a host and a port for --listen, such as 127.0.0.1:4001', HELP)
  return [host.replace(/^\[(.*)\]$/, '$1'), Number(port)]
}

function cannotListen(error: unknown, address: string): never {
  const why = systemFault(systemCode(error) ?? '') ?? String(error)
  throw new CommandFailed(`${address} cannot be used: ${why}`, HELP, 1, error)
}
