import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type AnswerSettings, type AutoReplyPort, answering, type WaitingThread } from './answering.ts'
import { type Backend, BackendFailed } from './backend.ts'
import { requestOf } from './testing.ts'

/** What the disk of a node throws that has no room. */
class Full extends Error {
  override message = 'the disk is full'
}

const thread = (more: Partial<WaitingThread> = {}): WaitingThread => ({
  interactionId: 'i1',
  peer: 'alice',
  turn: 1,
  autoReplies: 0,
  endProposed: false,
  hasImage: false,
  ...more,
})

/** A node in memory: what waits, and what the loop did with it. */
function node(waiting: WaitingThread[], secrets: string[] = []) {
  const done: string[] = []
  const settle = (entry: string, which: WaitingThread) => {
    done.push(entry)
    waiting.splice(waiting.indexOf(which), 1)
  }
  const port: AutoReplyPort = {
    waiting: async () => [...waiting],
    requireSafe: async () => undefined,
    request: async which => requestOf(`turn ${which.turn}`),
    answer: async (which, text) => {
      if (!waiting.includes(which)) return false
      settle(`answer ${text}`, which)
      return true
    },
    proposeEnd: async which => settle('propose end', which),
    acceptEnd: async which => settle('accept end', which),
    secrets: () => secrets,
    ranLately: [],
    keepRuns: () => undefined,
    isOwnFailure: error => error instanceof Full,
    report: (event, _, detail) =>
      void done.push(`${event}${detail['why'] === undefined ? '' : ` ${detail['why']}`}`),
  }
  return { port, done, waiting }
}

const says = (text: string): Backend => ({ name: 'test', reply: async () => ({ text }) })
const settings = (backend: Backend, more: Partial<AnswerSettings> = {}): AnswerSettings => ({
  backend,
  historyMax: 20,
  timeoutMs: 1_000,
  autoRepliesMax: 30,
  requireImage: false,
  usageHint: undefined,
  errorReply: undefined,
  ...more,
})

async function run(
  given: ReturnType<typeof node>,
  set: AnswerSettings,
  until: () => boolean,
  now: () => number = Date.now,
): Promise<void> {
  const { round } = answering(given.port, set, now)
  const { signal } = new AbortController()
  for (let i = 0; i < 400 && !until(); i++) {
    await round(signal, until).catch(error => given.done.push(`fault ${error.message}`))
    await pause(5)
  }
}

describe('answering by itself', () => {
  test('answers each waiting turn once', async () => {
    const given = node([thread(), thread({ interactionId: 'i2' })])
    await run(given, settings(says('42')), () => given.waiting.length === 0)
    expect(given.done).toEqual(['answer 42', 'answered', 'answer 42', 'answered'])
  })

  test('answers one at a time', async () => {
    let running = 0
    let most = 0
    const backend: Backend = {
      name: 'slow',
      async reply() {
        most = Math.max(most, ++running)
        await pause(10)
        running--
        return { text: 'x' }
      },
    }
    const given = node([1, 2, 3].map(n => thread({ interactionId: `i${n}` })))
    await run(given, settings(backend), () => given.waiting.length === 0)
    expect(most).toBe(1)
  })

  test('after max_auto_replies answers it proposes to end', async () => {
    const given = node([thread({ autoReplies: 30 })])
    await run(given, settings(says('42')), () => given.waiting.length === 0)
    expect(given.done).toEqual(['propose end', 'ended max_auto_replies'])
  })

  test('agrees when the other party proposes to end', async () => {
    const given = node([thread({ endProposed: true })])
    await run(given, settings(says('42')), () => given.waiting.length === 0)
    expect(given.done).toEqual(['accept end', 'ended accepted'])
  })

  test('an answer that holds a secret of the node is not sent', async () => {
    const given = node([thread()], ['token-123'])
    await run(given, settings(says('here: token-123')), () => given.waiting.length === 0)
    expect(given.done.join('\n')).not.toContain('token-123')
    expect(given.done[0]).toMatch(/^refused/)
  })

  test.each([
    ['with zero-width characters inside', 'to\u200bken-12\u20603'],
    ['in another case', 'TOKEN-123'],
    ['with spaces between', 't o k e n - 1 2 3'],
  ])('a secret %s is found all the same', async (_, hidden) => {
    const given = node([thread()], ['token-123'])
    await run(given, settings(says(`here: ${hidden}`)), () => given.waiting.length === 0)
    expect(given.done[0]).toMatch(/^refused/)
  })

  test('an answer loses control characters', async () => {
    const given = node([thread()])
    await run(given, settings(says('a\u001b[31mb\u202e')), () => given.waiting.length === 0)
    expect(given.done[0]).toBe('answer a[31mb')
  })

  test('of an answer 200,000 characters are sent', async () => {
    const given = node([thread()])
    await run(given, settings(says('x'.repeat(200_001))), () => given.waiting.length === 0)
    expect(given.done[0]).toBe(`answer ${'x'.repeat(200_000)}`)
  })

  test('tries that were used up count anew where the loop is started again, as by other settings', async () => {
    const { given, times, now } = timed([thread()], 600_000)
    for (const failures of [5, 10]) await run(given, settings(broken), () => times.length >= failures, now)
    await run(given, settings(says('at last')), () => given.waiting.length === 0, now)
    expect(times.filter(([what]) => what === 'failed')).toHaveLength(10)
    expect(given.done.at(-1)).toBe('answered')
  })

  test('require_image answers a task without one with the usage hint', async () => {
    const given = node([thread()])
    await run(
      given,
      settings(says('42'), { requireImage: true, usageHint: 'send a picture' }),
      () => given.waiting.length === 0,
    )
    expect(given.done[0]).toBe('answer send a picture')
  })

  test('a failing backend is reported, tried later, and never answers for itself', async () => {
    const failing: Backend = {
      name: 'failing',
      reply: async () => {
        throw new BackendFailed('out of order: /home/owner')
      },
    }
    const quiet = node([thread()])
    await run(quiet, settings(failing), () => quiet.done.includes('failed'))
    expect(quiet.done).toEqual(['failed'])
    const spoken = node([thread()])
    let clock = 0
    await run(
      spoken,
      settings(failing, { errorReply: 'not now' }),
      () => spoken.waiting.length === 0,
      () => {
        clock += 600_000
        return clock
      },
    )
    expect(spoken.done.filter(entry => entry === 'failed')).toHaveLength(5)
    expect(spoken.done.at(-1)).toBe('answer not now')
    expect(spoken.done.join()).not.toContain('/home/owner')
  })

  const broken: Backend = {
    name: 'broken',
    reply: async () => {
      throw new BackendFailed('out of order')
    },
  }
  /** A clock that goes on with each look of the loop, and when it did what. */
  function timed(waiting: WaitingThread[], stepMs: number) {
    const given = node(waiting)
    let clock = 0
    const times: [string, number][] = []
    const port: AutoReplyPort = {
      ...given.port,
      waiting: async () => {
        clock += stepMs
        return given.port.waiting()
      },
      report: (event, which, detail) => {
        times.push([event, clock])
        given.port.report(event, which, detail)
      },
      answer: async (which, text) => {
        times.push([text, clock])
        return given.port.answer(which, text)
      },
    }
    return { given: { ...given, port }, times, now: () => clock }
  }

  test('a failed turn is tried five times, 10, 20, 40 and 80 s apart, and then gets the error reply', async () => {
    const { given, times, now } = timed([thread()], 1_000)
    const set = settings(broken, { errorReply: 'not now' })
    await run(given, set, () => given.waiting.length === 0, now)
    const started = times[0]?.[1] ?? 0
    expect(times.map(([what, at]) => [what, (at - started) / 1_000])).toEqual([
      ['failed', 0],
      ['failed', 10],
      ['failed', 30],
      ['failed', 70],
      ['failed', 150],
      ['not now', 150],
    ])
  })

  test('an error reply that could not be kept is sent later, without asking the backend again', async () => {
    const { given, times, now } = timed([thread()], 60_000)
    const { answer } = given.port
    let refusals = 2
    given.port.answer = async (which, text) => {
      if (refusals-- > 0) throw new Full()
      return answer(which, text)
    }
    const set = settings(broken, { errorReply: 'not now' })
    await run(given, set, () => given.waiting.length === 0, now)
    expect(times.map(([what]) => what)).toEqual([...Array(5).fill('failed'), 'not now'])
    expect(given.done.filter(entry => entry.startsWith('fault'))).toHaveLength(2)
  })

  test('a pause for the limit of a peer does not begin the tries anew', async () => {
    const others = Array.from({ length: 58 }, (_, i) => thread({ interactionId: `i${i}` }))
    const { given, times, now } = timed([...others, thread({ interactionId: 'bad' })], 60_000)
    const port = {
      ...given.port,
      request: async (which: WaitingThread) => requestOf('x', { interactionId: which.interactionId }),
    }
    const backend: Backend = {
      name: 'half',
      reply: async request => {
        if (request.interactionId === 'bad') throw new BackendFailed('out of order')
        return { text: 'fine' }
      },
    }
    const set = settings(backend, { errorReply: 'not now' })
    await run({ ...given, port }, set, () => given.waiting.length === 0, now)
    expect(times.some(([what]) => what === 'limited')).toBe(true)
    expect(times.filter(([what]) => what === 'failed')).toHaveLength(5)
  })

  test('what one thread throws ends neither the loop nor the answers of the others', async () => {
    const given = node([thread({ autoReplies: 30 }), thread({ interactionId: 'i2' })])
    const broken = {
      ...given,
      port: {
        ...given.port,
        proposeEnd: async () => {
          throw new Error('it was cancelled')
        },
      },
    }
    await run(broken, settings(says('42')), () => given.done.includes('answered'))
    expect(given.done).toEqual(['failed', 'answer 42', 'answered'])
  })

  test('a list of waiting threads that cannot be read is read at the next round', async () => {
    const given = node([thread()])
    let reads = 0
    const broken = {
      ...given,
      port: {
        ...given.port,
        waiting: async () => {
          if (++reads === 1) throw new Error('the disk is full')
          return given.port.waiting()
        },
      },
    }
    await run(broken, settings(says('42')), () => given.waiting.length === 0)
    expect(given.done).toEqual(['fault the disk is full', 'answer 42', 'answered'])
  })

  test('a disk that is full uses up none of the tries of a thread', async () => {
    const given = node([thread()])
    let left = 8
    const port = {
      ...given.port,
      keepRuns: () => {
        if (left-- > 0) throw new Full()
      },
    }
    await run({ ...given, port }, settings(says('42')), () => given.waiting.length === 0)
    expect(given.done).toEqual([...Array(8).fill('fault the disk is full'), 'answer 42', 'answered'])
  })

  test('one peer gets at most 60 answers an hour', async () => {
    const given = node(Array.from({ length: 62 }, (_, i) => thread({ turn: i + 1 })))
    await run(given, settings(says('x')), () => given.done.includes('limited'))
    expect(given.done.filter(entry => entry === 'answered')).toHaveLength(60)
  })

  test('of which those count that an earlier loop made', async () => {
    const lately = Array.from({ length: 59 }, () => ({ peer: thread().peer, at: Date.now() - 1000, ms: 5 }))
    const given = node([thread({ turn: 1 }), thread({ turn: 2 })])
    let kept: readonly unknown[] = []
    const port = {
      ...given.port,
      ranLately: lately,
      keepRuns: (runs: readonly unknown[]) => {
        kept = [...runs]
      },
    }
    await run({ ...given, port }, settings(says('x')), () => given.done.includes('limited'))
    expect(given.done.filter(entry => entry === 'answered')).toHaveLength(1)
    expect(kept).toHaveLength(60)
  })

  test('runs that fail count as well', async () => {
    const failing: Backend = {
      name: 'failing',
      reply: async () => {
        throw new BackendFailed('out of order')
      },
    }
    const given = node(Array.from({ length: 70 }, (_, i) => thread({ interactionId: `i${i}` })))
    await run(given, settings(failing), () => given.done.includes('limited'))
    expect(given.done.filter(entry => entry === 'failed')).toHaveLength(60)
  })

  test('hanging tasks of one peer hold up another for one run at most', async () => {
    let clock = 0
    const asked: string[] = []
    const backend: Backend = {
      name: 'slow',
      async reply(request) {
        asked.push(request.interactionId)
        clock += 180_000
        throw new BackendFailed('it took too long')
      },
    }
    const waiting = [1, 2, 3].map(n => thread({ interactionId: `slow ${n}`, peer: 'mallory' }))
    const given = node([...waiting, thread({ interactionId: 'quick', peer: 'alice' })])
    const port = {
      ...given.port,
      request: async (which: WaitingThread) => requestOf('x', { interactionId: which.interactionId }),
    }
    await run(
      { ...given, port },
      settings(backend),
      () => asked.includes('quick'),
      () => clock,
    )
    expect(asked.slice(0, 2)).toEqual(['slow 1', 'quick'])
  })

  test('stopping ends a running answer and waits for it', async () => {
    let aborted = false
    const hanging: Backend = {
      name: 'hanging',
      reply: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true
            reject(new BackendFailed('ended'))
          })
        }),
    }
    const given = node([thread()])
    const stopped = new AbortController()
    const { round } = answering(given.port, settings(hanging), Date.now)
    setTimeout(() => stopped.abort(), 20)
    await round(stopped.signal, () => false)
    expect(aborted).toBe(true)
    expect(given.done).toEqual([])
  })
})
