/** Running a provider: whatever it does, there is one effect, and it claims no more than it may. */
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { type CallOutcome, type Provider, ProviderFailed, runProvider } from './provider.ts'

const ground = { now: Date.now, timers: systemTimers, log: pino({ level: 'silent' }) }

function ran(
  run: Provider['run'] | CallOutcome,
  more: Partial<Provider> = {},
  signal = new AbortController().signal,
) {
  const provider: Provider = {
    capability: 'a.b',
    summary: '',
    published: false,
    timeoutMs: 10_000,
    trust: { verify: 2, auth: 1 },
    run: typeof run === 'function' ? run : async () => run,
    ...more,
  }
  return runProvider(provider, { capability: 'a.b', args: {}, caller: undefined, signal }, ground)
}

describe('an effect of a provider', () => {
  test('is OK with a metric at V2, and says how long it took and what was asked', async () => {
    expect(await ran({ status: 'OK', metrics: { a: 1 } })).toEqual({
      status: 'OK',
      message: '',
      record: { metrics: { a: 1 } },
      evidence: { verifyTrust: 2, authTrust: 1, requested: 'a.b', latencyMs: expect.any(Number) },
    })
  })

  test('is never OK without something to check, or below V2', async () => {
    expect((await ran({ status: 'OK' })).status).toBe('UNVERIFIED')
    const low = await ran({ status: 'OK', metrics: { a: 1 } }, { trust: { verify: 1, auth: 0 } })
    expect(low).toMatchObject({
      status: 'UNVERIFIED',
      message: 'executed, but below the trust that OK needs',
    })
  })

  test('claims trust for what was done, failures too, and none where nothing was', async () => {
    const failed = await ran({ status: 'FAILED', metrics: { code: 1 } })
    expect(failed.evidence).toMatchObject({ verifyTrust: 2, authTrust: 1 })
    const refused = await ran({ status: 'UNAVAILABLE', message: 'this caller is not allowed' })
    expect(refused.evidence).toMatchObject({ verifyTrust: 0, authTrust: 0 })
  })

  test('has no number that is none', async () => {
    const metrics = { nan: Number.NaN, infinite: Number.POSITIVE_INFINITY, zero: -0, one: 1 }
    expect((await ran({ status: 'OK', metrics })).record?.metrics).toEqual({ zero: 0, one: 1 })
  })

  test('tells its caller what the provider says, and of a bug nothing but that it was one', async () => {
    const fails = (error: Error) => ran(() => Promise.reject(error))
    expect(await fails(new ProviderFailed('no such room'))).toMatchObject({
      status: 'FAILED',
      message: 'no such room',
    })
    expect(await fails(new TypeError('secret of the code'))).toMatchObject({
      status: 'FAILED',
      message: 'the provider ended with an error',
    })
  })

  test('is there when its time is over, whether the provider ends by itself or never', async () => {
    const obedient: Provider['run'] = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    expect(await ran(obedient, { timeoutMs: 20 })).toMatchObject({
      status: 'FAILED',
      message: 'it took longer than 0.02 s',
    })
    expect(await ran(() => new Promise(() => {}), { timeoutMs: 20 })).toMatchObject({ status: 'FAILED' })
  })

  test('of a call that nobody waits for from the start is there all the same', async () => {
    const gone = AbortSignal.abort()
    expect(await ran(() => new Promise(() => {}), {}, gone)).toMatchObject({ status: 'FAILED' })
  })

  test('of a call that nobody waits for any more is that the provider says, if it says it soon', async () => {
    const leaving = AbortSignal.timeout(10)
    const ending: Provider['run'] = ({ signal }) =>
      new Promise(resolve =>
        signal.addEventListener('abort', () => resolve({ status: 'FAILED', message: 'killed' })),
      )
    expect(await ran(ending, {}, leaving)).toMatchObject({ message: 'killed' })
  })
})
