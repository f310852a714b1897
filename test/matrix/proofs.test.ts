import { testCells } from './cells.ts'
import { proofs } from './rows/proofs.ts'
import { calls } from './rows/work.ts'

// beside each other for the sake of files that take equally long
testCells([...proofs, ...calls])
