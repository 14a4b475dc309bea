// Times aba, rnea and crba of a tree of free, revolute and prismatic joints; prints "name µs" lines, best of several.
// Standard input: number of joints; per joint parent, kind (F, R, P), axis, rotation, position, mass, centre of mass and
// inertia about it; then q, v, tau.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>

#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/algorithm/crba.hpp"
#include "pinocchio/algorithm/rnea.hpp"
#include "pinocchio/multibody.hpp"

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

template <typename Derived> static void read(Eigen::DenseBase<Derived> &x) {
    for (Eigen::Index i = 0; i < x.rows(); ++i)
        for (Eigen::Index j = 0; j < x.cols(); ++j) std::cin >> x(i, j);
}

static void measure(const char *name, const std::function<void()> &call) {
    double best = 1e9;
    const int repetitions = 1000;
    for (int round = 0; round < 40; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < repetitions; ++i) call();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count() / repetitions);
    }
    std::printf("%s %.6f\n", name, best);
}

// The joints that Pinocchio itself would choose: those along an axis of their frame are faster.
static pinocchio::JointModel joint_of(char kind, const Vector3d &a) {
    using namespace pinocchio;
    if (kind == 'F') return JointModelFreeFlyer();
    const bool turns = kind == 'R';
    if (a.isApprox(Vector3d::UnitX())) return turns ? JointModel(JointModelRX()) : JointModel(JointModelPX());
    if (a.isApprox(Vector3d::UnitY())) return turns ? JointModel(JointModelRY()) : JointModel(JointModelPY());
    if (a.isApprox(Vector3d::UnitZ())) return turns ? JointModel(JointModelRZ()) : JointModel(JointModelPZ());
    return turns ? JointModel(JointModelRevoluteUnaligned(a)) : JointModel(JointModelPrismaticUnaligned(a));
}

int main() {
    pinocchio::Model model;
    int count;
    std::cin >> count;
    for (int i = 1; i <= count; ++i) {
        int parent;
        char kind;
        double mass;
        Vector3d axis, position, centre;
        Matrix3d rotation, inertia;
        std::cin >> parent >> kind;
        read(axis), read(rotation), read(position);
        std::cin >> mass;
        read(centre), read(inertia);
        const auto joint = joint_of(kind, axis);
        model.addJoint(parent, joint, pinocchio::SE3(rotation, position), "joint" + std::to_string(i));
        model.appendBodyToJoint(i, pinocchio::Inertia(mass, centre, inertia), pinocchio::SE3::Identity());
    }
    pinocchio::Data data(model);
    VectorXd q(model.nq), v(model.nv), tau(model.nv);
    read(q), read(v), read(tau);
    measure("aba", [&] { pinocchio::aba(model, data, q, v, tau); });
    measure("rnea", [&] { pinocchio::rnea(model, data, q, v, tau); });
    measure("crba", [&] { pinocchio::crba(model, data, q); });
    return 0;
}
