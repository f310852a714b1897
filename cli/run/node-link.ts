/** A node that may come and go behind its caller: calls wait out a restart, events go on where there is a node again. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ControlCall, NodeEvent } from '../../mcp/tool.ts'
import { type OperationName, operations } from '../../protocol/control/operations.ts'
import { causeCode } from '../../protocol/encoding/errors.ts'
import { UnreachableNode } from '../client/control.ts'
import { streamEvents } from '../client/events.ts'
import type { Io } from '../io.ts'
import type { Session } from './session.ts'

/** As long as a restart takes. */
const RESTART_WAIT_MS = 8_000
const LOOK_MS = 100
const STREAM_PAUSE_MS = 500
/** Nothing of a call reached the node. */
const NOTHING_SENT: readonly (string | undefined)[] = ['ECONNREFUSED', 'ENOENT', undefined]

/** Calls of the session's node, which may be started again meanwhile. */
export function callsAcrossRestarts(io: Io, session: Session): ControlCall {
  const quiet = Object.create(io, { err: { value: () => {} } }) as Io
  return acrossRestarts(async (...given) => (await session.connect(quiet)).call(...given))
}

/** Makes a call again while there is no node; one that changes something only if the node saw nothing of it. */
export function acrossRestarts(
  call: ControlCall,
  mayGoOn: () => Promise<boolean> = async () => true,
): ControlCall {
  return async (name, ...given) => {
    const signal = given[2]?.signal
    for (const until = performance.now() + RESTART_WAIT_MS; ; await pause(LOOK_MS)) {
      try {
        return await call(name, ...given)
      } catch (error) {
        if (!mayRepeat(name, error) || performance.now() > until || signal?.aborted === true) throw error
        if (!(await mayGoOn())) throw error
      }
    }
  }
}

/** Whether a call that found no node does no harm when it is made again. */
const mayRepeat = (name: OperationName, error: unknown): boolean =>
  error instanceof UnreachableNode &&
  (operations[name].reads || NOTHING_SENT.includes(causeCode(error.cause)))

type Hear = { onOpen(): void; onEvent(event: NodeEvent): void }
/** Hears until the node ends the stream or the signal comes. */
export type Stream = (hear: Hear, signal: AbortSignal) => Promise<void>

/** Events of the session's node, over its control interface. */
export const eventsOf =
  (io: Io, session: Session): Stream =>
  async ({ onOpen, onEvent }, signal) => {
    const { target } = await session.connect(io)
    await streamEvents(io, target, { signal, onOpen }, ({ event, data }) =>
      onEvent({ type: event as NodeEvent['type'], data: data as NodeEvent['data'] }),
    )
  }

/** Listens as long as it takes: a stream that ends is begun again, and what was missed is a `reset`. */
export function listenAgain(stream: Stream): (onEvent: (event: NodeEvent) => void) => () => void {
  return onEvent => {
    const ended = new AbortController()
    let isLost = false
    const onOpen = () => {
      if (isLost) onEvent({ type: 'reset', data: {} })
      isLost = false
    }
    const follow = async () => {
      while (!ended.signal.aborted) {
        await stream({ onOpen, onEvent }, ended.signal).catch(() => {})
        if (!isLost && !ended.signal.aborted) onEvent({ type: 'shutdown', data: {} })
        isLost = true
        await pause(STREAM_PAUSE_MS, undefined, { signal: ended.signal }).catch(() => {})
      }
    }
    void follow()
    return () => ended.abort()
  }
}
