/** svc-x402: credits of a hub as a scheme of x402, for whoever pays and for whoever is paid. */
export { CreditClient, type CreditClientOptions } from './client.ts'
export { type Payer, payerFromFolder, payerWithSeed } from './payer.ts'
export { CreditServer, MemorySpentSet, type SpentSet } from './server.ts'
export { ASSET, type Network, type Requirements, SCHEME } from './shapes.ts'
