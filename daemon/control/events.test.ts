/** The stream of events of a node that stops. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { Events } from '../platform/events.ts'
import { serveEvents } from './events.ts'

const stream = () => {
  const through = new PassThrough()
  return Object.assign(through, { headersSent: false, writeHead: () => through }) as PassThrough & {
    headersSent: boolean
    writeHead(): never
  }
}

test.each([
  ['before it stops', false],
  ['while it stops', true],
])('a stream that is asked for %s ends with the word that it stops', async (_when, isLate) => {
  const closing = new AbortController()
  if (isLate) closing.abort()
  const reply = stream()
  const ctx = { events: new Events(1, systemTimers), timers: systemTimers }
  serveEvents(ctx, { headers: {} }, reply, new URL('http://node/events'), closing.signal)
  closing.abort()
  expect(await text(reply)).toMatch(/event: shutdown\ndata: \{\}\n\n$/)
})
