/**
 * A shop with the stock packages: `node server.mjs <express|hono> <hub> <hub AID> <payee> [authorization|upfront]`.
 * It prints its address, then a line for each request that its handler served.
 */
import { createServer } from 'node:http'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { CreditServer } from '../../x402/dist/index.js'

const [framework, hub, hubAid, payTo, flow] = process.argv.slice(2)
const wire = { 'X-Svc-Wire': '3' }
const facilitator = new HTTPFacilitatorClient({
  url: `${hub}/x402`,
  createAuthHeaders: async () => ({ verify: wire, settle: wire, supported: wire }),
})
const extra = flow === undefined ? undefined : { paymentFlow: flow }
const accepts = {
  scheme: 'svc-credit',
  network: `hub:${hubAid}`,
  payTo,
  price: { asset: 'credit', amount: '3', extra },
  maxTimeoutSeconds: 60,
}
const routes = { 'GET /paid': { accepts }, 'GET /broken': { accepts } }
const served = path => process.stdout.write(`served ${path}\n`)
const started = server =>
  server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
const pause = () => new Promise(resolve => setTimeout(resolve, 50))

if (framework === 'express') {
  const { default: express } = await import('express')
  const { paymentMiddleware, x402ResourceServer } = await import('@x402/express')
  const app = express()
  app.use(
    paymentMiddleware(routes, new x402ResourceServer(facilitator).register('hub:*', new CreditServer())),
  )
  app.get('/paid', async (_, response) => {
    await pause()
    served('/paid')
    response.json({ answer: 42 })
  })
  app.get('/broken', (_, response) => response.status(500).json({}))
  started(createServer(app))
} else {
  const { Hono } = await import('hono')
  const { serve } = await import('@hono/node-server')
  const { paymentMiddleware, x402ResourceServer } = await import('@x402/hono')
  const app = new Hono()
  app.use(
    paymentMiddleware(routes, new x402ResourceServer(facilitator).register('hub:*', new CreditServer())),
  )
  app.get('/paid', async context => {
    await pause()
    served('/paid')
    return context.json({ answer: 42 })
  })
  app.get('/broken', context => context.json({}, 500))
  serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
    process.stdout.write(`http://127.0.0.1:${port}\n`),
  )
}
