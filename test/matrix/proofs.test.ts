import { testMatrix } from './cells.ts'
import { proofs } from './rows/proofs.ts'

testMatrix(proofs)
